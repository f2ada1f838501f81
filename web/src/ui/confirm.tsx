import { AlertDialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { Button } from "./button";

type ConfirmProps = {
  title: string;
  /** What will happen, and what stays. */
  description: string;
  /** The word on the button that does it: "Reject". */
  action: string;
  isOpen: boolean;
  isUnderWay?: boolean;
  onOpenChange: (isOpen: boolean) => void;
  onConfirm: () => void;
  /** Where the keyboard goes on when it has closed; if this does not say, where it was. */
  onClosed?: (event: Event) => void;
  /** Such as why it failed. */
  children?: ReactNode;
};

/** Asks once more before something is done that cannot be undone. Whoever calls closes it when it is done. */
export function Confirm({ isUnderWay = false, ...props }: ConfirmProps) {
  return (
    <Radix.Root open={props.isOpen} onOpenChange={(isOpen) => !isUnderWay && props.onOpenChange(isOpen)}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/40" />
        <Radix.Content
          {...(props.onClosed ? { onCloseAutoFocus: props.onClosed } : {})}
          className="fixed top-[20vh] left-1/2 z-50 max-h-[70vh] w-[calc(100vw-2rem)] max-w-md -translate-x-1/2 overflow-auto rounded-card border border-line bg-raised p-5 shadow-raised"
        >
          <Radix.Title className="font-semibold break-words">{props.title}</Radix.Title>
          <Radix.Description className="mt-1 text-sm break-words text-ink-soft">
            {props.description}
          </Radix.Description>
          {props.children}
          <div className="mt-5 flex justify-end gap-2">
            <Radix.Cancel asChild>
              <Button disabled={isUnderWay}>Keep it as it is</Button>
            </Radix.Cancel>
            <Button look="stop" disabled={isUnderWay} onClick={props.onConfirm}>
              {isUnderWay ? `${props.action} …` : props.action}
            </Button>
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
