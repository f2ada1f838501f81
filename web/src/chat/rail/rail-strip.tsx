import { ChevronUp } from "lucide-react";
import { useState } from "react";
import { useFigures } from "@/chat/run-queries";
import { useRun } from "@/stream/use-run";
import { cx } from "@/ui/cx";
import { Drawer } from "@/ui/drawer";
import type { MeterView } from "./meters";
import { Rail } from "./rail";
import { useMeters } from "./use-meters";

/** The rail where there is no room for it: one line of small meters, which opens the whole. */
export function RailStrip({ runId, isUnderWay }: { runId: string; isUnderWay: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const { state } = useRun(runId);
  const meters = useMeters(state, useFigures(runId).data, isUnderWay);
  return (
    <>
      <button
        type="button"
        aria-haspopup="dialog"
        onClick={() => setOpen(true)}
        className="flex w-full items-end gap-3 rounded-control px-1 py-1.5 text-left hover:bg-line/50"
      >
        <span className="sr-only">Budget: </span>
        {meters.map((meter) => (
          <SmallMeter key={meter.key} meter={meter} />
        ))}
        <ChevronUp aria-hidden className="size-4 shrink-0 text-ink-faint" />
      </button>
      <Drawer title="What is left" side="right" isOpen={isOpen} onOpenChange={setOpen}>
        <Rail runId={runId} isUnderWay={isUnderWay} />
      </Drawer>
    </>
  );
}

function SmallMeter({ meter }: { meter: MeterView }) {
  const percent = meter.percent ?? 0;
  const isWarned = meter.warnPercent !== null && percent >= meter.warnPercent;
  return (
    <span className="min-w-0 flex-1">
      <span className="flex justify-between gap-1 text-[0.6875rem] leading-4">
        <span className="text-ink-faint">{meter.label}</span>
        <span aria-hidden className="truncate tabular-nums">
          {meter.used}
        </span>
        <span className="sr-only">{meter.words}, </span>
      </span>
      <span className="mt-0.5 block h-1 overflow-hidden rounded-full bg-line">
        <span
          className={cx(
            "block h-full rounded-full transition-[width] duration-300",
            percent >= 100 ? "bg-stop" : isWarned ? "bg-notice-line" : "bg-accent",
          )}
          style={{ width: `${percent}%` }}
        />
      </span>
    </span>
  );
}
