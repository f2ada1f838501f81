import { LoaderCircle, MessageCircleQuestion } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useId, useState } from "react";
import { Button } from "@/ui/button";
import { ProblemNotice } from "@/ui/states";
import { MOST_CHARS_SAID } from "@/words/offers";
import { useAnswering } from "./coding-queries";

type AnswerCardProps = {
  runId: string;
  question: string;
  /** What is answered here in an example. */
  suggestion: string | null;
};

/** What the session asks before it goes on, and a place to answer. */
export function AnswerCard({ runId, question, suggestion }: AnswerCardProps) {
  const id = useId();
  const [text, setText] = useState("");
  const answering = useAnswering(runId);
  const { isUnderWay } = answering;
  const send = () => {
    if (text.trim() !== "" && !isUnderWay) answering.send(text.trim());
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
    <section
      aria-label="It asks you"
      className="rounded-card border border-notice-line bg-notice-soft p-4 text-sm"
    >
      <div className="flex items-start gap-2.5">
        <MessageCircleQuestion aria-hidden className="mt-0.5 size-4 shrink-0 text-notice" />
        <div className="min-w-0 flex-1">
          <h2 className="font-semibold">It asks you</h2>
          <p aria-live="polite" className="mt-1 break-words whitespace-pre-wrap">
            {question}
          </p>
          <form onSubmit={onSubmit} className="mt-3 space-y-2">
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
            <div className="flex flex-wrap items-center gap-2">
              <Button type="submit" look="primary" disabled={isUnderWay || text.trim() === ""}>
                {isUnderWay && <LoaderCircle aria-hidden className="size-4 animate-spin" />}
                {isUnderWay ? "Answering …" : "Answer"}
              </Button>
              {suggestion !== null && text === "" && !isUnderWay && (
                <Button look="ghost" className="h-auto min-h-9 text-left" onClick={() => setText(suggestion)}>
                  Write “{suggestion}”
                </Button>
              )}
            </div>
          </form>
          {answering.isError && <ProblemNotice className="mt-2" error={answering.error} onRetry={send} />}
        </div>
      </div>
    </section>
  );
}
