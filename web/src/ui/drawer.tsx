import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { cx } from "./cx";

type DrawerProps = {
  title: string;
  side: "left" | "right";
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
  children: ReactNode;
};

/** A part of the view that slides in from a side, where there is no room for it. */
export function Drawer({ title, side, isOpen, onOpenChange, children }: DrawerProps) {
  return (
    <Radix.Root open={isOpen} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/40" />
        <Radix.Content
          aria-describedby={undefined}
          className={cx(
            "fixed inset-y-0 z-50 flex w-80 max-w-[calc(100vw-3rem)] flex-col bg-panel shadow-raised",
            side === "left" ? "left-0 border-r border-line" : "right-0 border-l border-line",
          )}
        >
          <div className="flex items-center justify-between gap-2 px-4 pt-3">
            <Radix.Title className="font-semibold">{title}</Radix.Title>
            <Radix.Close aria-label="Close" className="rounded p-1.5 text-ink-faint hover:text-ink">
              <X aria-hidden className="size-4" />
            </Radix.Close>
          </div>
          <div className="relative min-h-0 flex-1 overflow-y-auto">{children}</div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
