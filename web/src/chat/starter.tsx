import { FlaskConical } from "lucide-react";
import { Button } from "@/ui/button";

const EXAMPLES = [
  "What does this project do, and where should I start to read?",
  "How is it tested, and what is not?",
  "What happens here when something goes wrong?",
];
const RUNAWAY = { model: "playground:runaway", question: "Run as far as you can." };

type StarterProps = { onQuestion: (question: string, model?: string) => void };

/** What a new chat begins with. */
export function Starter({ onQuestion }: StarterProps) {
  return (
    <div className="mx-auto flex max-w-xl flex-col gap-6 py-[8vh]">
      <div>
        <h2 className="text-xl font-semibold">Ask about your project</h2>
        <p className="mt-1.5 text-ink-soft">
          An agent reads it and answers, and always ends: on purpose, inside its budget, with a reason you can
          read.
        </p>
      </div>
      <ul className="grid gap-2" aria-label="Examples">
        {EXAMPLES.map((example) => (
          <li key={example}>
            <Button
              className="h-auto w-full justify-start py-2.5 text-left font-normal"
              onClick={() => onQuestion(example)}
            >
              {example}
            </Button>
          </li>
        ))}
      </ul>
      <p className="flex flex-wrap items-center gap-x-1.5 text-sm text-ink-soft">
        <FlaskConical aria-hidden className="size-4" />
        <button
          type="button"
          className="rounded font-medium text-accent underline underline-offset-2"
          onClick={() => onQuestion(RUNAWAY.question, RUNAWAY.model)}
        >
          Watch a runaway being stopped
        </button>
        <span>It needs no key; its prices are made up.</span>
      </p>
    </div>
  );
}
