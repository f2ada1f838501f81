import { useState } from "react";
import type { Schemas } from "@/api/client";
import { useFigures } from "@/chat/run-queries";
import type { Following } from "@/stream/follower";
import { type RunState, unseenAnswer } from "@/stream/run-state";
import { followerOf } from "@/stream/use-run";
import { Markdown } from "@/ui/markdown";
import { ProblemNotice } from "@/ui/states";
import { endingOf } from "@/words/endings";
import { type Ended, endedOf } from "./ended";
import { EndingNotice, LeftOpenNotice } from "./ending-notice";
import { doingNow } from "./flow";
import { Footer, Progress } from "./footer";
import { Question } from "./question";
import { Sources } from "./sources";
import { useFollow } from "./use-follow";
import { Work } from "./work";

export type ExchangeProps = {
  exchange: Schemas["Exchange"];
  isLast: boolean;
  onBranch: (runId: string) => void;
  /** Ask the same once more; where it is not given, that is not offered. */
  onAskAgain?: (question: string) => void;
  /** Have it go on where a limit ended it; where it is not given, that is not offered. */
  onGoOn?: (() => void) | undefined;
};

/**
 * One question and what came of it. A run that goes on is shown as it streams. One that has ended is shown by its
 * answer, at once; all it did on the way is there when somebody opens it.
 */
export function Exchange({ exchange, isLast, onBranch, onAskAgain, onGoOn }: ExchangeProps) {
  const { run_id: runId, question } = exchange;
  const [isOpen, setOpen] = useState(exchange.phase !== "ENDED" || !exchange.answer);
  const following = useFollow(exchange, isLast || isOpen || exchange.phase !== "ENDED");
  const state = following?.state ?? null;
  const ended = endedOf(exchange, state);
  const isLeftOpen = useIsLeftOpen(runId, ended === null);
  const isRunning = ended === null && !isLeftOpen && following?.problem == null;
  const answer = state?.ending?.answer.trim() || exchange.answer?.trim() || null;
  const isWorkShown = isOpen && (exchange.phase !== "ENDED" || hasToldAll(following));
  return (
    <article aria-label={question.slice(0, 100)} className="py-3">
      <Question text={question} />
      <div className="mt-3 space-y-3">
        <h2 className="sr-only">Answer</h2>
        {isWorkShown && state !== null ? (
          <WorkAndAnswer state={state} isRunning={isRunning} />
        ) : (
          answer !== null && <Markdown text={answer} />
        )}
        {following?.problem && <ProblemNotice error={following.problem} onRetry={followerOf(runId).again} />}
        {state !== null && ended !== null && <Sources sources={state.sources} />}
        {isLeftOpen && <LeftOpenNotice runId={runId} />}
        {ended !== null && (
          <EndingNotice
            // A run that pauses twice asks twice.
            key={state?.ending ? state.parts.length : "kept"}
            runId={runId}
            question={question}
            ended={ended}
            state={state}
            hasAnswer={answer !== null}
            onAskAgain={onAskAgain}
            onGoOn={onGoOn}
          />
        )}
        {isRunning ? (
          <Progress words={progressWords(following)} />
        ) : (
          <Footer
            runId={runId}
            answer={answer}
            work={answer === null ? null : isWorkShown ? "shown" : isOpen ? "opening" : "hidden"}
            onWork={() => setOpen(!isOpen)}
            onBranch={() => onBranch(runId)}
          />
        )}
        <p role="status" className="sr-only">
          {statusWords(ended, isRunning, following)}
        </p>
      </div>
    </article>
  );
}

function WorkAndAnswer({ state, isRunning }: { state: RunState; isRunning: boolean }) {
  const unseen = unseenAnswer(state);
  return (
    <>
      <Work state={state} isRunning={isRunning} />
      {unseen !== null && <Markdown text={unseen} />}
    </>
  );
}

function useIsLeftOpen(runId: string, isGoing: boolean): boolean {
  const figures = useFigures(isGoing ? runId : null);
  return isGoing && (figures.data?.is_left_open ?? false);
}

/** The stream has come to where the run stands: at its end, or as far as it will tell. */
function hasToldAll(following: Following | null): boolean {
  return following !== null && (following.state.ending !== null || following.problem !== null);
}

function progressWords(following: Following | null): string {
  if (following === null || following.link === "connecting") return "Opening";
  return following.link === "waiting" ? "The connection broke, trying again" : doingNow(following.state);
}

/** Said aloud by screen readers when it changes: not each word, only how it stands. */
function statusWords(ended: Ended | null, isRunning: boolean, following: Following | null): string {
  if (ended !== null) return `Ended: ${endingOf(ended.outcome).word}`;
  if (following?.link === "waiting") return "The connection broke, trying again";
  if (!isRunning) return "Interrupted";
  return following !== null && !following.state.hasWorker ? doingNow(following.state) : "Answering";
}
