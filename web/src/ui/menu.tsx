import { DropdownMenu as Radix } from "radix-ui";
import type { ReactNode } from "react";

/** A button that opens a list of things to do. */
export function Menu({ trigger, children }: { trigger: ReactNode; children: ReactNode }) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align="end"
          sideOffset={4}
          className="z-50 min-w-44 rounded-control border border-line bg-raised p-1 text-sm shadow-raised"
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

export function MenuItem(props: { onSelect: () => void; isDisabled?: boolean; children: ReactNode }) {
  return (
    <Radix.Item
      disabled={props.isDisabled ?? false}
      onSelect={props.onSelect}
      className="flex cursor-default items-center gap-2 rounded px-2.5 py-1.5 outline-none data-[disabled]:opacity-50 data-[highlighted]:bg-accent-soft"
    >
      {props.children}
    </Radix.Item>
  );
}
