import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { type ReactNode, useRef } from "react";
import { cx } from "./cx";

type DialogProps = {
  title: string;
  description?: string;
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
  isWide?: boolean;
  /** Instead of going back to where the focus was. */
  onClosed?: () => void;
  children: ReactNode;
};

export function Dialog(props: DialogProps) {
  const { title, description, isOpen, onOpenChange, isWide = false, children } = props;
  const opener = useOpener(isOpen);
  const onCloseAutoFocus = (event: Event) => {
    event.preventDefault();
    if (props.onClosed) props.onClosed();
    // What opened it may be gone by now: deleted, say.
    else if (opener.current?.isConnected) opener.current.focus();
    else document.getElementById("main")?.focus();
  };
  return (
    <Radix.Root open={isOpen} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/40" />
        <Radix.Content
          onCloseAutoFocus={onCloseAutoFocus}
          {...(description ? {} : { "aria-describedby": undefined })}
          className={cx(
            "fixed top-[12vh] left-1/2 z-50 max-h-[76vh] w-[calc(100vw-2rem)] -translate-x-1/2 overflow-auto",
            "rounded-card border border-line bg-raised p-5 shadow-raised",
            isWide ? "max-w-3xl" : "max-w-md",
          )}
        >
          <div className="mb-3 flex items-start justify-between gap-4">
            <div>
              <Radix.Title className="font-semibold break-words">{title}</Radix.Title>
              {description && (
                <Radix.Description className="mt-0.5 text-sm text-ink-soft">{description}</Radix.Description>
              )}
            </div>
            <Radix.Close aria-label="Close" className="rounded p-1 text-ink-faint hover:text-ink">
              <X aria-hidden className="size-4" />
            </Radix.Close>
          </div>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** What had the focus before it opened. Looked at while it opens: a field inside may take the focus at once. */
function useOpener(isOpen: boolean) {
  const opener = useRef<HTMLElement | null>(null);
  const wasOpen = useRef(false);
  if (isOpen && !wasOpen.current) {
    opener.current = document.activeElement instanceof HTMLElement ? document.activeElement : null;
  }
  wasOpen.current = isOpen;
  return opener;
}
