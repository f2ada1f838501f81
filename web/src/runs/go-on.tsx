import { Play } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import { Link } from "react-router";
import { Button } from "@/ui/button";
import { NumberField } from "@/ui/number-field";
import { ProblemNotice } from "@/ui/states";
import { plural } from "@/words/format";
import { MORE_TURNS, MOST_CHARS_SAID } from "@/words/offers";
import { type GoingOn, useResume } from "./run-queries";
import type { RunDetail } from "./run-shapes";

const MOST_TURNS = 1_000;

type Resume = { isUnderWay: boolean; onGoOn: (how: GoingOn) => void };

/** The way on for a run that has not ended and does not run: resume, grant more, or answer. */
export function GoOn({ run }: { run: RunDetail }) {
  const resume = useResume(run.run_id);
  const way = wayOn(run, { isUnderWay: resume.isPending, onGoOn: (how) => resume.mutate(how) });
  if (way === null) return null;
  return (
    <div className="mt-3 space-y-2">
      {way}
      {resume.isError && (
        <ProblemNotice
          error={resume.error}
          onRetry={() => resume.variables && resume.mutate(resume.variables)}
        />
      )}
    </div>
  );
}

function wayOn(run: RunDetail, resume: Resume) {
  if (run.phase === "RUNNING" && run.is_left_open) {
    return (
      <Button look="primary" disabled={resume.isUnderWay} onClick={() => resume.onGoOn({})}>
        <Play aria-hidden className="size-4" />
        {resume.isUnderWay ? "Resuming …" : "Resume where it stood"}
      </Button>
    );
  }
  if (run.phase === "BUDGET_REVIEW") return <GrantTurns {...resume} />;
  return run.phase === "AWAIT_USER" ? <AnswerIt {...resume} /> : null;
}

function GrantTurns({ isUnderWay, onGoOn }: Resume) {
  const id = useId();
  const [text, setText] = useState(String(MORE_TURNS));
  const turns = /^\d{1,4}$/.test(text.trim()) ? Number(text) : 0;
  const isGood = turns >= 1 && turns <= MOST_TURNS;
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (isGood && !isUnderWay) onGoOn({ turns });
  };
  return (
    <form onSubmit={send} className="flex flex-wrap items-center gap-2">
      <NumberField
        id={id}
        label="How many more turns"
        text={text}
        onText={setText}
        unit="turns"
        isWrong={!isGood}
        isDisabled={isUnderWay}
        describedBy={isGood ? undefined : `${id}-wrong`}
        className="w-28"
      />
      <Button type="submit" look="primary" disabled={!isGood || isUnderWay}>
        {isUnderWay ? "Going on …" : isGood ? `Continue with ${plural(turns, "more turn")}` : "Continue"}
      </Button>
      <Link to="/reviews" className="text-sm text-accent underline underline-offset-2">
        Decide it among the reviews
      </Link>
      {!isGood && (
        <p id={`${id}-wrong`} role="alert" className="w-full text-sm text-stop">
          A whole number from 1 to 1,000.
        </p>
      )}
    </form>
  );
}

function AnswerIt({ isUnderWay, onGoOn }: Resume) {
  const [text, setText] = useState("");
  const answer = text.trim();
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (answer !== "" && !isUnderWay) onGoOn({ answer });
  };
  return (
    <form onSubmit={send} className="space-y-2">
      <label className="block text-xs text-ink-soft">
        Your answer
        <textarea
          value={text}
          rows={3}
          maxLength={MOST_CHARS_SAID}
          disabled={isUnderWay}
          onChange={(event) => setText(event.target.value)}
          className="mt-1 block w-full rounded-control border border-line-strong bg-panel p-2 text-sm text-ink"
        />
      </label>
      <Button type="submit" look="primary" disabled={answer === "" || isUnderWay}>
        {isUnderWay ? "Going on …" : "Answer, and let it go on"}
      </Button>
    </form>
  );
}
