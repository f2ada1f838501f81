import { CircleAlert, CircleCheck, CircleSlash, LoaderCircle, type LucideIcon } from "lucide-react";
import { memo, useState } from "react";
import type { ToolUse } from "@/stream/run-state";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy-button";
import { cx } from "@/ui/cx";
import { Fold } from "@/ui/fold";
import { count } from "@/words/format";
import { type CallStanding, callStanding, readArguments, shortArguments } from "./flow";

const ICONS: Record<CallStanding, { Icon: LucideIcon; className: string }> = {
  working: { Icon: LoaderCircle, className: "text-accent animate-spin" },
  done: { Icon: CircleCheck, className: "text-good" },
  failed: { Icon: CircleAlert, className: "text-stop" },
  held: { Icon: CircleSlash, className: "text-notice" },
};
/** With one more, the first fold into a line: the group keeps its height while it grows. */
const MOST_LINES = 5;
const MOST_CHARS = 2_000;

/** Calls in a row: one line each, the earlier ones of many behind one line. */
export function ToolCalls({ uses, isRunning }: { uses: readonly ToolUse[]; isRunning: boolean }) {
  const [isWhole, setWhole] = useState(false);
  const hidden = isWhole || uses.length <= MOST_LINES ? 0 : uses.length - (MOST_LINES - 1);
  return (
    <ul className="divide-y divide-line rounded-control border border-line bg-panel px-2.5">
      {hidden > 0 && (
        <li className="flex min-h-8 items-center">
          <button
            type="button"
            className="w-full rounded text-left text-sm text-ink-soft hover:text-ink"
            onClick={() => setWhole(true)}
          >
            Show {count(hidden)} earlier calls
          </button>
        </li>
      )}
      {uses.slice(hidden).map((use, at) => (
        // By index: models repeat ids, and calls are only added at the end
        <li key={hidden + at} className="py-0.5">
          <ToolCall use={use} isRunning={isRunning} />
        </li>
      ))}
    </ul>
  );
}

const ToolCall = memo(function ToolCall({ use, isRunning }: { use: ToolUse; isRunning: boolean }) {
  const { standing, word } = callStanding(use, isRunning);
  const { Icon, className } = ICONS[standing];
  const short = shortArguments(use.arguments);
  return (
    <Fold
      line={
        <>
          <Icon aria-hidden className={cx("size-3.5 shrink-0", className)} />
          <span className="max-w-2/5 shrink-0 truncate font-medium text-ink">{use.tool}</span>
          <span className="min-w-0 flex-1 truncate font-mono text-xs">{short}</span>
          <span
            className={standing === "done" || standing === "working" ? "sr-only" : cx("text-xs", className)}
          >
            {word}
          </span>
        </>
      }
    >
      <div className="mt-1 mb-2 space-y-2">
        <Monospace title="Arguments" text={pretty(readArguments(use.arguments))} />
        {use.result !== null && (
          <Monospace title={use.result.isError ? "Error" : "Result"} text={use.result.text} />
        )}
      </div>
    </Fold>
  );
});

/** Text as it is, cut if it is long. */
function Monospace({ title, text }: { title: string; text: string }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > MOST_CHARS;
  return (
    <div>
      <div className="flex items-center justify-between gap-2">
        <h3 className="text-xs font-medium text-ink-faint">{title}</h3>
        <CopyButton label={`Copy ${title.toLowerCase()}`} isIconOnly text={() => text} />
      </div>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard must reach it
        tabIndex={0}
        className="max-h-96 overflow-auto rounded-control border border-line bg-canvas p-2.5 font-mono text-xs break-words whitespace-pre-wrap"
      >
        {text === "" ? "(empty)" : isCut ? `${text.slice(0, MOST_CHARS)}…` : text}
      </pre>
      {isCut && (
        <Button look="ghost" size="small" className="mt-1" onClick={() => setWhole(true)}>
          Show all {count(text.length)} characters
        </Button>
      )}
    </div>
  );
}

function pretty(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}
