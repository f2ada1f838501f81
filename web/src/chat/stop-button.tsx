import { ChevronDown, Square } from "lucide-react";
import { Button } from "@/ui/button";
import { Menu, MenuItem } from "@/ui/menu";

export type Stopping = "no" | "after_turn" | "now";

type StopButtonProps = { stopping: Stopping; onStop: (afterTurn: boolean) => void };

const WORDS: Record<Stopping, string> = {
  no: "Stop",
  after_turn: "Stopping after this turn …",
  now: "Stopping …",
};

/** Ends the run under way. What it has gathered is kept, either way. */
export function StopButton({ stopping, onStop }: StopButtonProps) {
  return (
    <Menu
      trigger={
        <Button look="stop" disabled={stopping === "now"} className="max-w-full">
          <Square aria-hidden className="size-3 shrink-0 fill-current" />
          <span className="truncate">{WORDS[stopping]}</span>
          <ChevronDown aria-hidden className="size-3.5 shrink-0" />
        </Button>
      }
    >
      <MenuItem onSelect={() => onStop(false)}>
        Stop now
        <kbd className="ml-auto pl-4 font-sans text-xs text-ink-faint">Esc</kbd>
      </MenuItem>
      <MenuItem onSelect={() => onStop(true)} isDisabled={stopping !== "no"}>
        Stop after this turn
      </MenuItem>
    </Menu>
  );
}
