/** The ways in which a run that waits goes on. Each shows that it is under way, and why it failed if it did. */
import { LoaderCircle } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useId, useState } from "react";
import { NOTHING_YET, type RunState } from "@/stream/run-state";
import { Button } from "@/ui/button";
import { ProblemNotice } from "@/ui/states";
import { MOST_CHARS_SAID } from "@/words/offers";
import { useAnswer, useContinue, useEndHere } from "./exchange-queries";
import { offerOf } from "./offer";

type ContinueOrEndProps = { runId: string; reviewId: string | null; state: RunState | null };

export function ContinueOrEnd({ runId, reviewId, state }: ContinueOrEndProps) {
  const going = useContinue(runId);
  const ending = useEndHere(runId);
  const { label, grant } = offerOf(state ?? NOTHING_YET);
  // Until the stream tells that it goes on, which takes a moment, nothing can be pressed again.
  const isUnderWay = going.isPending || going.isSuccess || ending.isPending || ending.isSuccess;
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 pt-2">
        <Button look="primary" disabled={isUnderWay} onClick={() => going.mutate(grant)}>
          {(going.isPending || going.isSuccess) && (
            <LoaderCircle aria-hidden className="size-4 animate-spin" />
          )}
          {label}
        </Button>
        {reviewId !== null && (
          <Button look="ghost" disabled={isUnderWay} onClick={() => ending.mutate(reviewId)}>
            {ending.isPending || ending.isSuccess ? "Ending …" : "End it here"}
          </Button>
        )}
      </div>
      {going.isError && (
        <ProblemNotice className="mt-2" error={going.error} onRetry={() => going.mutate(grant)} />
      )}
      {ending.isError && reviewId !== null && (
        <ProblemNotice className="mt-2" error={ending.error} onRetry={() => ending.mutate(reviewId)} />
      )}
    </>
  );
}

export function AnswerField({ runId }: { runId: string }) {
  const id = useId();
  const [text, setText] = useState("");
  const answer = useAnswer(runId);
  const isUnderWay = answer.isPending || answer.isSuccess;
  const send = () => {
    if (text.trim() !== "" && !isUnderWay) answer.mutate(text.trim());
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form onSubmit={onSubmit} className="space-y-2 pt-2">
      <label htmlFor={id} className="sr-only">
        Your answer
      </label>
      <textarea
        id={id}
        rows={2}
        maxLength={MOST_CHARS_SAID}
        value={text}
        readOnly={isUnderWay}
        placeholder="Your answer"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
        className="block w-full resize-y rounded-control border border-line-strong bg-panel px-3 py-2 placeholder:text-ink-faint"
      />
      <Button type="submit" look="primary" disabled={isUnderWay || text.trim() === ""}>
        {isUnderWay && <LoaderCircle aria-hidden className="size-4 animate-spin" />}
        Answer
      </Button>
      {answer.isError && <ProblemNotice error={answer.error} onRetry={send} />}
    </form>
  );
}

/** For a run whose process has died. */
export function PickUp({ runId }: { runId: string }) {
  const going = useContinue(runId);
  return (
    <div className="space-y-2 pt-2">
      <Button look="primary" disabled={going.isPending} onClick={() => going.mutate(null)}>
        {going.isPending && <LoaderCircle aria-hidden className="size-4 animate-spin" />}
        Try again
      </Button>
      {going.isError && <ProblemNotice error={going.error} onRetry={() => going.mutate(null)} />}
    </div>
  );
}
