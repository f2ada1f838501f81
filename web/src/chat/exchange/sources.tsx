import { FileText } from "lucide-react";
import { useState } from "react";
import type { Source } from "@/stream/run-state";
import { CopyButton } from "@/ui/copy-button";
import { Dialog } from "@/ui/dialog";
import { chipWords, linesOf } from "./passage";

const MOST_CHIPS = 12;

/** What the answer rests on: chips that open the passage. */
export function Sources({ sources }: { sources: readonly Source[] }) {
  const [isWhole, setWhole] = useState(false);
  const [shown, setShown] = useState<Source | null>(null);
  const [isOpen, setOpen] = useState(false);
  if (sources.length === 0) return null;
  const chips = isWhole ? sources : sources.slice(0, MOST_CHIPS);
  return (
    <section aria-label="Sources">
      <ul className="flex flex-wrap gap-1.5">
        {chips.map((source) => (
          <li key={source.location} className="min-w-0">
            <button
              type="button"
              title={source.location}
              onClick={() => {
                setShown(source);
                setOpen(true);
              }}
              className="flex h-7 max-w-full items-center gap-1.5 rounded-full border border-line bg-panel px-2.5 text-xs text-ink-soft hover:border-line-strong hover:text-ink"
            >
              <FileText aria-hidden className="size-3.5 shrink-0" />
              <span className="max-w-56 truncate">{chipWords(source)}</span>
            </button>
          </li>
        ))}
        {chips.length < sources.length && (
          <li>
            <button
              type="button"
              onClick={() => setWhole(true)}
              className="h-7 rounded-full px-2.5 text-xs text-ink-soft hover:text-ink"
            >
              {sources.length - chips.length} more
            </button>
          </li>
        )}
      </ul>
      {shown !== null && (
        <Dialog
          title={shown.title || shown.location}
          description={shown.location}
          isOpen={isOpen}
          onOpenChange={setOpen}
          isWide
        >
          <Passage source={shown} />
        </Dialog>
      )}
    </section>
  );
}

function Passage({ source }: { source: Source }) {
  const lines = linesOf(source);
  return (
    <div>
      <section
        aria-label="Passage"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard must reach it
        tabIndex={0}
        className="overflow-x-auto rounded-control border border-line bg-canvas py-2 font-mono text-xs leading-5"
      >
        {lines.map((line, at) => (
          // By index: lines of a text that does not change
          <div key={at} className="flex w-max min-w-full px-3">
            {line.number !== null && (
              <span aria-hidden className="mr-4 w-10 shrink-0 text-right text-ink-faint select-none">
                {line.number}
              </span>
            )}
            <span className="whitespace-pre">{line.text === "" ? " " : line.text}</span>
          </div>
        ))}
      </section>
      <div className="mt-2 flex flex-wrap gap-1">
        <CopyButton label="Copy passage" text={() => source.passage} />
        <CopyButton label="Copy location" text={() => source.location} />
      </div>
    </div>
  );
}
