/** How it ended when it was not a plain success: why, what was kept, and what one can do now. */
import { CircleAlert, CircleSlash, Hourglass, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import type { RunState } from "@/stream/run-state";
import type { Tone } from "@/ui/badge";
import { Button } from "@/ui/button";
import { cx } from "@/ui/cx";
import { endingOf } from "@/words/endings";
import { MORE_TURNS } from "@/words/offers";
import { type Ended, sentence } from "./ended";
import { AnswerField, ContinueOrEnd, PickUp } from "./going-on";

const LOOKS: Record<Tone, { box: string; icon: string }> = {
  neutral: { box: "border-line bg-panel", icon: "text-ink-soft" },
  accent: { box: "border-line bg-panel", icon: "text-accent" },
  good: { box: "border-line bg-panel", icon: "text-good" },
  notice: { box: "border-notice-line bg-notice-soft", icon: "text-notice" },
  stop: { box: "border-stop/40 bg-stop-soft", icon: "text-stop" },
};

type NoticeProps = { title: string; tone: Tone; Icon: LucideIcon; children: ReactNode };

function Notice({ title, tone, Icon, children }: NoticeProps) {
  const look = LOOKS[tone];
  return (
    <section
      aria-label={title}
      className={cx("flex items-start gap-2.5 rounded-card border p-3 text-sm", look.box)}
    >
      <Icon aria-hidden className={cx("mt-0.5 size-4 shrink-0", look.icon)} />
      <div className="min-w-0 flex-1 space-y-1 break-words">
        <p className="font-medium">{title}</p>
        {children}
      </div>
    </section>
  );
}

type EndingNoticeProps = {
  runId: string;
  question: string;
  ended: Ended;
  state: RunState | null;
  hasAnswer: boolean;
  onAskAgain?: ((question: string) => void) | undefined;
  onGoOn?: (() => void) | undefined;
};

export function EndingNotice(props: EndingNoticeProps) {
  const { runId, question, ended, state, hasAnswer, onAskAgain, onGoOn } = props;
  const { word, tone } = endingOf(ended.outcome);
  const reason = sentence(ended.reason ?? "");
  const askAgain = (label: string) =>
    onAskAgain && (
      <Button className="mt-2" onClick={() => onAskAgain(question)}>
        {label}
      </Button>
    );
  const goOn = onGoOn ? (
    <Button look="primary" className="mt-2" onClick={onGoOn}>
      Continue with {MORE_TURNS} more turns
    </Button>
  ) : (
    askAgain("Ask again with more turns")
  );
  const kept = keptWords(hasAnswer, state);
  switch (ended.outcome) {
    case "completed":
      if (ended.warnings.length === 0) return null;
      return (
        <Notice title="Completed, with a warning" tone="notice" Icon={CircleAlert}>
          {ended.warnings.map((warning) => (
            <p key={warning}>{warning}</p>
          ))}
          {ended.warnings.some((warning) => /\blimit\b/i.test(warning)) && (
            <>
              <p className="text-ink-soft">{kept}</p>
              {goOn}
            </>
          )}
        </Notice>
      );
    case "forced":
    case "stopped":
      return (
        <Notice title={word} tone={tone} Icon={Hourglass}>
          <p>{reason}</p>
          <p className="text-ink-soft">{kept}</p>
          {goOn}
        </Notice>
      );
    case "cancelled":
      return (
        <Notice title={word} tone={tone} Icon={CircleSlash}>
          <p className="text-ink-soft">
            {reason} {kept}
          </p>
          {askAgain("Ask again")}
        </Notice>
      );
    case "abandoned":
      return (
        <Notice title={word} tone={tone} Icon={CircleSlash}>
          <p>{reason}</p>
          <p className="text-ink-soft">{kept}</p>
          <NextSteps steps={ended.next_steps ?? []} />
          {askAgain("Ask again")}
        </Notice>
      );
    case "failed":
      return (
        <Notice title={word} tone={tone} Icon={CircleAlert}>
          <p>{reason}</p>
          <p className="text-ink-soft">{kept}</p>
          {askAgain("Try again")}
        </Notice>
      );
    case "under_review":
      return (
        <Notice title="Paused: it may go on if you let it" tone={tone} Icon={Hourglass}>
          <p>{reason}</p>
          <p className="text-ink-soft">What it said and did until then is kept.</p>
          <ContinueOrEnd runId={runId} reviewId={ended.review_id ?? null} state={state} />
        </Notice>
      );
    case "awaiting_user":
      return (
        <Notice title="It asks you" tone={tone} Icon={Hourglass}>
          <p className="whitespace-pre-wrap">{ended.question || reason}</p>
          <AnswerField runId={runId} />
        </Notice>
      );
  }
}

function keptWords(hasAnswer: boolean, state: RunState | null): string {
  if (hasAnswer) return "The answer above is what it had by then.";
  // Words that nobody wrote down in time are taken back when a process dies, and nothing may be left.
  return state !== null && state.ending !== null && state.parts.length === 0
    ? "There was nothing to keep yet."
    : "What it said and did until then is kept.";
}

/** Its process has died: nobody works on it, and it can be picked up where it stood. */
export function LeftOpenNotice({ runId }: { runId: string }) {
  return (
    <Notice title="Nobody works on this any more" tone="stop" Icon={CircleAlert}>
      <p>The process that ran it has ended before it was done.</p>
      <p className="text-ink-soft">What it said and did until then is kept, and it can go on from there.</p>
      <PickUp runId={runId} />
    </Notice>
  );
}

function NextSteps({ steps }: { steps: readonly string[] }) {
  if (steps.length === 0) return null;
  return (
    <div>
      <p className="font-medium">What to do next</p>
      <ul className="list-disc pl-5">
        {steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ul>
    </div>
  );
}
