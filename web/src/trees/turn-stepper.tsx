import { ChevronLeft, ChevronRight } from "lucide-react";
import { Button } from "@/ui/button";
import { cx } from "@/ui/cx";

type TurnStepperProps = {
  /** The turn that is looked at, from 1; null for what is now. */
  turn: number | null;
  /** How many turns there were so far. */
  turns: number;
  isOver: boolean;
  onLookAt: (turn: number | null) => void;
};

/** Goes through the turns of a run, back from what is now. */
export function TurnStepper({ turn, turns, isOver, onLookAt }: TurnStepperProps) {
  const now = isOver ? "In the end" : "Live";
  const before = turn === null ? turns : turn - 1;
  return (
    <div role="toolbar" aria-label="Turns" className="flex items-center gap-1">
      <Button
        size="small"
        disabled={before < 1}
        onClick={() => onLookAt(Math.min(before, turns))}
        aria-label="Previous turn"
        title="Previous turn"
      >
        <ChevronLeft aria-hidden className="size-4" />
      </Button>
      <span aria-live="polite" className="min-w-28 text-center text-sm tabular-nums">
        {turn === null ? now : `Turn ${turn} of ${turns}`}
      </span>
      <Button
        size="small"
        disabled={turn === null || turn >= turns}
        onClick={() => onLookAt((turn ?? 0) + 1)}
        aria-label="Next turn"
        title="Next turn"
      >
        <ChevronRight aria-hidden className="size-4" />
      </Button>
      <Button
        size="small"
        look="ghost"
        className={cx(turn === null && "invisible")}
        onClick={() => onLookAt(null)}
      >
        {isOver ? "In the end" : "Back to live"}
      </Button>
    </div>
  );
}
