import { type FormEvent, useId, useState } from "react";
import type { Schemas } from "@/api/client";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/confirm";
import { cx } from "@/ui/cx";
import { ProblemNotice } from "@/ui/states";
import { MOST_CHARS_SAID } from "@/words/offers";
import { AmountFields } from "./amount-fields";
import { type AmountTexts, suggested } from "./amounts";
import { type Choice, decisionOf, type FormProblems } from "./decisions";
import { type Decision, type Review, useDecide, useReviewedRun } from "./review-queries";

type Words = { title: string; about: string; ask: string; hint: string; button: string };

const CHOICES: readonly Choice[] = ["approved", "needs_changes", "rejected"];
const WORDS: Record<Choice, Words> = {
  approved: {
    title: "Approve",
    about: "It goes on where it stopped, with more budget.",
    ask: "Why (you may leave it out)",
    hint: "Stands in the record.",
    button: "Approve and go on",
  },
  needs_changes: {
    title: "Ask for changes",
    about: "It goes on with more budget, and with what you tell it.",
    ask: "What should it do otherwise?",
    hint: "The agent reads this before it goes on.",
    button: "Send and go on",
  },
  rejected: {
    title: "Reject",
    about: "It ends here, with its work saved.",
    ask: "Why?",
    hint: "Stands in the record.",
    button: "Reject …",
  },
};

const NONE: FormProblems = { amounts: {} };

type DecideFormProps = { review: Review; onDecided: (decided: Schemas["Decided"]) => void };

/** Approve with an amount, ask for changes with feedback, or reject with a reason. */
export function DecideForm({ review, onDecided }: DecideFormProps) {
  const id = useId();
  const run = useReviewedRun(review.run_id);
  const decide = useDecide(review, onDecided);
  const [choice, setChoice] = useState<Choice>("approved");
  const [typed, setTyped] = useState<AmountTexts>({});
  const [words, setWords] = useState<Partial<Record<Choice, string>>>({});
  const [problems, setProblems] = useState(NONE);
  const [toConfirm, setToConfirm] = useState<Decision | null>(null);
  const chosen = WORDS[choice];
  const amounts = { ...suggested(run.data?.meters, run.data?.turns ?? 0), ...typed };

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (decide.isPending) return;
    const read = decisionOf({ choice, amounts, words: words[choice] ?? "" });
    setProblems("problems" in read ? read.problems : NONE);
    if ("problems" in read) return;
    if (choice === "rejected") setToConfirm(read.decision);
    else decide.mutate(read.decision);
  };
  const reject = () => {
    if (toConfirm !== null) decide.mutate(toConfirm, { onSettled: () => setToConfirm(null) });
  };
  const choose = (next: Choice) => {
    setChoice(next);
    setProblems(NONE);
    decide.reset();
  };

  return (
    <form onSubmit={submit} className="mt-4 border-t border-line pt-4" noValidate>
      <fieldset disabled={decide.isPending}>
        <legend className="mb-2 text-sm font-semibold">Your decision</legend>
        <div className="grid gap-2 sm:grid-cols-3">
          {CHOICES.map((one) => (
            <ChoiceOption
              key={one}
              name={`${id}-choice`}
              words={WORDS[one]}
              isChosen={choice === one}
              onChoose={() => choose(one)}
            />
          ))}
        </div>
      </fieldset>
      {choice !== "rejected" && (
        <AmountFields
          meters={run.data?.meters}
          texts={amounts}
          wrong={problems.amounts}
          problem={problems.grant}
          isDisabled={decide.isPending}
          onText={(name, text) => setTyped((before) => ({ ...before, [name]: text }))}
        />
      )}
      <div className="mt-4">
        <label htmlFor={`${id}-words`} className="mb-1 block text-sm font-medium">
          {chosen.ask}
        </label>
        <textarea
          id={`${id}-words`}
          rows={choice === "approved" ? 1 : 3}
          maxLength={MOST_CHARS_SAID}
          value={words[choice] ?? ""}
          disabled={decide.isPending}
          aria-invalid={problems.words !== undefined}
          aria-describedby={`${id}-hint`}
          onChange={(event) => setWords((before) => ({ ...before, [choice]: event.target.value }))}
          className={cx(
            "block w-full resize-y rounded-control border bg-panel px-2.5 py-1.5 text-sm",
            problems.words === undefined ? "border-line-strong" : "border-stop",
          )}
        />
        <p
          id={`${id}-hint`}
          aria-live="polite"
          className={cx("mt-1 text-xs", problems.words ? "text-stop" : "text-ink-faint")}
        >
          {problems.words ?? chosen.hint}
        </p>
      </div>
      {decide.isError && <ProblemNotice error={decide.error} className="mt-3" />}
      <div className="mt-3 flex justify-end">
        <Button type="submit" look={choice === "rejected" ? "stop" : "primary"} disabled={decide.isPending}>
          {decide.isPending ? "Deciding …" : chosen.button}
        </Button>
      </div>
      <Confirm
        title="Reject, and end this run?"
        description="It ends as abandoned and cannot go on. Its text, its sources and the record of every turn are kept."
        action="Reject"
        isOpen={toConfirm !== null}
        isUnderWay={decide.isPending}
        onOpenChange={(isOpen) => !isOpen && setToConfirm(null)}
        onConfirm={reject}
      />
    </form>
  );
}

type ChoiceOptionProps = { name: string; words: Words; isChosen: boolean; onChoose: () => void };

function ChoiceOption({ name, words, isChosen, onChoose }: ChoiceOptionProps) {
  return (
    <label
      className={cx(
        "flex cursor-pointer items-start gap-2 rounded-control border px-3 py-2 text-sm",
        isChosen ? "border-accent bg-accent-soft" : "border-line hover:bg-canvas",
      )}
    >
      <input type="radio" name={name} checked={isChosen} onChange={onChoose} className="mt-1 accent-accent" />
      <span>
        <span className="block font-medium">{words.title}</span>
        <span className="block text-xs text-ink-soft">{words.about}</span>
      </span>
    </label>
  );
}
