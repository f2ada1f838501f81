import { Badge } from "@/ui/badge";
import { Fold } from "@/ui/fold";
import { duration, plural } from "@/words/format";
import { commandWords, testsWords } from "./coding-words";
import type { TestsRun } from "./shapes";

const MOST_NAMES = 10;

/** The project's own tests, as they really ran: how they went, which failed, what they printed. */
export function TestsRunItem({ tests, isTakenBack }: { tests: TestsRun; isTakenBack: boolean }) {
  const { word, tone } = testsWords(tests);
  return (
    <li className="min-w-0 text-sm">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <Badge tone={isTakenBack ? "notice" : tone}>{word}</Badge>
        <span className="text-xs text-ink-soft">
          after {tests.after}
          {isTakenBack && ", which was taken back"}, {duration(tests.seconds)}
        </span>
      </p>
      {tests.failing.length > 0 && (
        <ul aria-label="Failing tests" className="mt-1 space-y-0.5">
          {tests.failing.slice(0, MOST_NAMES).map((name) => (
            <li key={name} className="font-mono text-xs break-all text-stop">
              {name}
            </li>
          ))}
          {tests.failing.length > MOST_NAMES && (
            <li className="text-xs text-ink-soft">
              and {plural(tests.failing.length - MOST_NAMES, "more", "more")}
            </li>
          )}
        </ul>
      )}
      {tests.output !== "" && (
        <Fold
          line={
            <span className="truncate">
              Output of <code className="font-mono text-xs">{commandWords(tests.command)}</code>
            </span>
          }
        >
          <pre
            // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard must reach it
            tabIndex={0}
            className="max-h-80 overflow-auto rounded-control border border-line bg-canvas p-3 font-mono text-xs whitespace-pre"
          >
            {tests.output}
          </pre>
        </Fold>
      )}
    </li>
  );
}
