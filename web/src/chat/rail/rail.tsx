import { ArrowRight } from "lucide-react";
import { Link } from "react-router";
import { useFigures } from "@/chat/run-queries";
import { useRun } from "@/stream/use-run";
import { Badge } from "@/ui/badge";
import { MeterBar } from "@/ui/meter-bar";
import { ProblemNotice } from "@/ui/states";
import { endingOf, type Standing } from "@/words/endings";
import { RunningPath } from "./running-path";
import { Signals } from "./signals";
import { useMeters } from "./use-meters";

type RailProps = { runId: string | null; isUnderWay: boolean };

/** What is left, of everything that is limited, and what it is doing now. */
export function Rail({ runId, isUnderWay }: RailProps) {
  return (
    <section aria-label="Budget" className="space-y-5 p-4">
      {runId === null ? <NoRun /> : <RunRail runId={runId} isUnderWay={isUnderWay} />}
    </section>
  );
}

function NoRun() {
  return (
    <div>
      <h2 className="mb-1.5 text-sm font-semibold">Budget</h2>
      <p className="text-sm text-ink-soft">
        Once you ask, you can see here what is used and what is left: turns, tokens, cost and time.
      </p>
    </div>
  );
}

function RunRail({ runId, isUnderWay }: { runId: string; isUnderWay: boolean }) {
  const { state, link } = useRun(runId);
  const figures = useFigures(runId);
  const meters = useMeters(state, figures.data, isUnderWay);
  const isWarned = (state.ending?.warnings.length ?? 0) > 0;
  const standing = standingOf(isUnderWay, state.ending?.outcome ?? figures.data?.outcome ?? null, isWarned);
  const signals = state.signals.length > 0 ? state.signals : (figures.data?.signals ?? []);
  return (
    <>
      <div className="flex min-h-6 items-center justify-between gap-2">
        <h2 className="text-sm font-semibold">Budget</h2>
        {standing && <Badge tone={standing.tone}>{standing.word}</Badge>}
      </div>
      {figures.isError && <ProblemNotice error={figures.error} onRetry={() => void figures.refetch()} />}
      <div className="space-y-3.5">
        {meters.map(({ key, label, words, percent, warnPercent, reservePercent }) => (
          <MeterBar
            key={key}
            label={label}
            words={words}
            percent={percent}
            warnPercent={warnPercent}
            reservePercent={reservePercent}
          />
        ))}
      </div>
      <Legend />
      {isUnderWay && link === "waiting" && (
        <p role="status" className="text-xs text-notice">
          The connection is gone. Trying again …
        </p>
      )}
      {isUnderWay && <RunningPath names={state.running?.names ?? []} />}
      <Signals signals={signals} />
      <Link
        to={`/runs/${encodeURIComponent(runId)}`}
        className="inline-flex items-center gap-1 text-sm text-accent underline underline-offset-2"
      >
        Everything about this run
        <ArrowRight aria-hidden className="size-3.5" />
      </Link>
    </>
  );
}

function Legend() {
  return (
    <p className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-ink-faint">
      <span className="inline-flex items-center gap-1.5">
        <span aria-hidden className="h-2.5 w-0.5 bg-ink" /> warning
      </span>
      <span className="inline-flex items-center gap-1.5">
        <span aria-hidden className="hatched h-1.5 w-4 rounded-full bg-line" /> kept for finishing
      </span>
    </p>
  );
}

function standingOf(isUnderWay: boolean, outcome: string | null, isWarned: boolean): Standing | null {
  if (isUnderWay) return { word: "Running", tone: "accent" };
  if (outcome === null) return null;
  // What came with a warning does not look like a plain success.
  return outcome === "completed" && isWarned ? { ...endingOf(outcome), tone: "notice" } : endingOf(outcome);
}
