import type { Tone } from "@/ui/badge";
import { Card } from "@/ui/card";
import { cx } from "@/ui/cx";
import { Fold } from "@/ui/fold";
import { closed } from "@/words/format";
import { kindWord } from "./coding-words";
import { CriterionList } from "./criterion-list";
import { Said } from "./said";
import type { Session } from "./shapes";

const TONES: Record<Tone, string> = {
  neutral: "border-line bg-panel",
  accent: "border-accent/40 bg-accent-soft",
  good: "border-good/40 bg-good-soft",
  notice: "border-notice-line bg-notice-soft",
  stop: "border-stop/40 bg-stop-soft",
};

/** How it ended, why, and what to do next. */
export function EndingCard({ session }: { session: Session }) {
  const { conclusion, why, warnings, tried } = session;
  const kind = conclusion?.kind ?? session.outcome;
  if (kind === null) return null;
  const { word, tone } = kindWord(kind);
  // That of a plain success only repeats the summary of its last round.
  const isPlain = kind === "succeeded";
  // Nothing more is to be suggested: the work was taken, or put away.
  const isSettled = session.standing === "accepted" || session.standing === "discarded";
  return (
    <section aria-label="How it ended" className={cx("rounded-card border p-4 text-sm", TONES[tone])}>
      <div aria-live="polite">
        <h2 className="text-lg font-semibold">{word}</h2>
        {why !== null && why !== "" && !isPlain && (
          <p className="break-words whitespace-pre-wrap">{closed(why)}</p>
        )}
        {warnings.length > 0 && (
          <ul className="mt-1 list-disc space-y-0.5 pl-5">
            {warnings.map((warning) => (
              <li key={warning} className="break-words">
                {warning}
              </li>
            ))}
          </ul>
        )}
        {conclusion !== null && conclusion.suggestion !== "" && !isSettled && (
          <p className="mt-1 break-words text-ink-soft">
            <Said text={closed(conclusion.suggestion)} />
          </p>
        )}
      </div>
      <NextSteps steps={session.other_steps} />
      {tried.length > 0 && (
        <Fold className="mt-1" line={`What was tried (${tried.length})`}>
          <Lines lines={tried} />
        </Fold>
      )}
    </section>
  );
}

/** What "done" rests on, each with its evidence. */
export function EvidenceCard({ session }: { session: Session }) {
  const criteria = session.conclusion?.criteria ?? [];
  if (criteria.length === 0) return null;
  return (
    <Card title="What this rests on">
      <CriterionList criteria={criteria} label="Evidence" verifiedWord="Verified" />
    </Card>
  );
}

function NextSteps({ steps }: { steps: readonly string[] }) {
  if (steps.length === 0) return null;
  return (
    <div className="mt-3">
      <h3 className="font-medium">What to do next</h3>
      <ul className="list-disc space-y-0.5 pl-5">
        {steps.map((step) => (
          <li key={step} className="break-words">
            <Said text={step} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Lines({ lines }: { lines: readonly string[] }) {
  return (
    <ul className="space-y-0.5 pl-5">
      {lines.map((line) => (
        <li key={line} className="font-mono text-xs break-words">
          {line}
        </li>
      ))}
    </ul>
  );
}
