import type { ReactNode } from "react";
import type { Tone } from "@/ui/badge";
import { cx } from "@/ui/cx";
import { ProblemNotice } from "@/ui/states";
import { standingOf } from "@/words/endings";
import { GoOn } from "./go-on";
import { useExplanation } from "./run-queries";
import type { Explanation, RunDetail } from "./run-shapes";
import { isGoing } from "./run-words";

const TONES: Record<Tone, string> = {
  neutral: "border-line bg-panel",
  accent: "border-accent/40 bg-accent-soft",
  good: "border-good/40 bg-good-soft",
  notice: "border-notice-line bg-notice-soft",
  stop: "border-stop/40 bg-stop-soft",
};

/** Why it stopped, or how it stands; and the way to go on, where there is one. */
export function EndingCard({ run }: { run: RunDetail }) {
  const told = useExplanation(run.run_id);
  return (
    <section aria-label="How it ended" className={cx("rounded-card border p-4", TONES[standingOf(run).tone])}>
      <div aria-live="polite">
        {told.data && <Told run={run} told={told.data} />}
        {told.isPending && <Plain run={run} />}
        {told.isError && <ProblemNotice error={told.error} onRetry={() => void told.refetch()} />}
      </div>
      <GoOn run={run} />
    </section>
  );
}

/** Until the explanation is there: the same place, with what is known already. */
function Plain({ run }: { run: RunDetail }) {
  return (
    <>
      <Headline>{headlineOf(run) ?? run.ending ?? standingOf(run).word}</Headline>
      <p className="text-sm break-words text-ink-soft">{run.reason ?? "…"}</p>
    </>
  );
}

function Told({ run, told }: { run: RunDetail; told: Explanation }) {
  const isWaiting = run.phase === "BUDGET_REVIEW" || run.phase === "AWAIT_USER";
  return (
    <>
      <Headline>{headlineOf(run) ?? told.headline}</Headline>
      <p className="text-sm break-words whitespace-pre-wrap">
        {isWaiting ? (run.reason ?? told.why) : told.why}
      </p>
      {told.kept !== "" && <p className="mt-1 text-sm break-words text-ink-soft">{told.kept}</p>}
      {told.to_do !== "" && (
        <p className="mt-1 text-sm break-words whitespace-pre-wrap text-ink-soft">{told.to_do}</p>
      )}
      {(told.evidence.length > 0 || told.spent.length > 0) && (
        <details className="mt-2 text-sm">
          <summary className="cursor-pointer text-ink-soft">
            {told.evidence.length > 0 ? "The evidence, and what was used" : "What was used"}
          </summary>
          <div className="mt-2 grid gap-3 sm:grid-cols-2">
            {told.evidence.length > 0 && <Lines title="Evidence" lines={told.evidence} />}
            {told.spent.length > 0 && <Lines title="Used" lines={told.spent} />}
          </div>
        </details>
      )}
    </>
  );
}

/** A run that has not ended has no ending to explain: it is said what it does instead. */
function headlineOf(run: RunDetail): string | null {
  switch (run.phase) {
    case "RUNNING":
      return isGoing(run) ? "It is running." : "It was left open: its process is gone, and nothing is lost.";
    case "BUDGET_REVIEW":
      return "It waits for a review.";
    case "AWAIT_USER":
      return "It waits for an answer.";
    case "ENDED":
      return null;
  }
}

function Headline({ children }: { children: ReactNode }) {
  return <h2 className="mb-0.5 text-lg font-semibold break-words">{children}</h2>;
}

function Lines({ title, lines }: { title: string; lines: readonly string[] }) {
  return (
    <div className="min-w-0">
      <h3 className="text-xs font-medium text-ink-soft">{title}</h3>
      <ul className="mt-1 space-y-0.5">
        {lines.map((line) => (
          <li key={line} className="font-mono text-xs break-words">
            {line}
          </li>
        ))}
      </ul>
    </div>
  );
}
