import { Check, Circle, LoaderCircle, X } from "lucide-react";
import { cx } from "@/ui/cx";
import { type ShownStep, shownSteps, stepAbout, stepStandingWords, stepWord } from "./coding-words";
import type { Session, StepStanding } from "./shapes";

const LOOKS: Record<StepStanding, string> = {
  waiting: "border-line text-ink-faint",
  running: "border-accent bg-accent-soft text-accent",
  done: "border-good/40 bg-good-soft text-good",
  failed: "border-notice-line bg-notice-soft text-notice",
};

/** Where a session stands: the steps it takes, one after the other, and which of them it is in. */
export function Stepper({ session, isMoving }: { session: Session; isMoving: boolean }) {
  const isOver = session.phase === "concluded";
  const steps = shownSteps(session.steps, isOver);
  return (
    <ol
      aria-label="Steps"
      className="flex flex-wrap gap-1.5 lg:grid lg:auto-cols-fr lg:grid-flow-col lg:gap-2"
    >
      {steps.map((step) => (
        <StepItem key={step.name} step={step} isOver={isOver} isMoving={isMoving} />
      ))}
    </ol>
  );
}

type StepItemProps = { step: ShownStep; isOver: boolean; isMoving: boolean };

function StepItem({ step, isOver, isMoving }: StepItemProps) {
  const isNow = step.standing === "running";
  return (
    <li
      {...(isNow ? { "aria-current": "step" as const } : {})}
      title={stepAbout(step.name)}
      className={cx(
        "flex min-w-0 items-center gap-2 rounded-control border px-2.5 py-1 text-sm lg:px-3 lg:py-1.5",
        LOOKS[step.standing],
      )}
    >
      <StandingIcon standing={step.standing} isMoving={isMoving} />
      <span className="font-medium">{stepWord(step.name)}</span>
      <span className="sr-only text-xs lg:not-sr-only lg:ml-auto">{stepStandingWords(step, isOver)}</span>
    </li>
  );
}

function StandingIcon({ standing, isMoving }: { standing: StepStanding; isMoving: boolean }) {
  const look = "size-4 shrink-0";
  switch (standing) {
    case "done":
      return <Check aria-hidden className={look} />;
    case "failed":
      return <X aria-hidden className={look} />;
    case "running":
      // It stands still while it waits for somebody.
      return <LoaderCircle aria-hidden className={cx(look, isMoving && "animate-spin")} />;
    case "waiting":
      return <Circle aria-hidden className={look} />;
  }
}
