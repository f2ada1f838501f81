import { type ReactNode, useId, useState } from "react";
import { Button } from "@/ui/button";
import { cx } from "@/ui/cx";
import { Fold } from "@/ui/fold";
import { Loading, ProblemNotice } from "@/ui/states";
import { plural } from "@/words/format";
import { useDiff } from "./coding-queries";
import { type DiffFile, type DiffLine, filesOf } from "./diff";

/** Files with fewer lines than this in all are shown at once. */
const FEW_LINES = 120;
const MOST_LINES = 400;

type DiffFoldProps = {
  runId: string;
  /** Null for all that the session has changed. */
  round: number | null;
  commit: string | null;
  line: ReactNode;
};

/** What was changed, read from the server when it is unfolded. */
export function DiffFold({ line, ...which }: DiffFoldProps) {
  return (
    <Fold line={line}>
      <Changes {...which} />
    </Fold>
  );
}

function Changes({ runId, round, commit }: Omit<DiffFoldProps, "line">) {
  const diff = useDiff(runId, round, commit, true);
  if (diff.isPending) return <Loading what="Reading the changes" />;
  if (diff.data === undefined) {
    return <ProblemNotice error={diff.error} onRetry={() => void diff.refetch()} />;
  }
  const files = filesOf(diff.data.text);
  if (files.length === 0) return <p className="p-2 text-sm text-ink-soft">Nothing was changed.</p>;
  const lines = files.reduce((sum, file) => sum + file.lines.length, 0);
  return (
    <div className="space-y-2 pt-1">
      {files.map((file, index) => (
        <DiffFileFold key={index} file={file} isOpenAtFirst={lines <= FEW_LINES || files.length === 1} />
      ))}
      {diff.data.is_cut && (
        <p className="text-sm text-notice">There is more than is shown here. See all of it with git.</p>
      )}
    </div>
  );
}

function DiffFileFold({ file, isOpenAtFirst }: { file: DiffFile; isOpenAtFirst: boolean }) {
  return (
    <div className="overflow-hidden rounded-control border border-line">
      <Fold
        className="[&>button]:px-2"
        isOpenAtFirst={isOpenAtFirst}
        line={
          <>
            <code className="min-w-0 truncate font-mono text-xs">{file.name || "Changes"}</code>
            <span className="ml-auto shrink-0 text-xs tabular-nums">
              <span className="text-good">+{file.added}</span>{" "}
              <span className="text-stop">−{file.removed}</span>
            </span>
          </>
        }
      >
        <FileLines file={file} />
      </Fold>
    </div>
  );
}

function FileLines({ file }: { file: DiffFile }) {
  const id = useId();
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? file.lines : file.lines.slice(0, MOST_LINES);
  const hidden = file.lines.length - shown.length;
  return (
    <div className="border-t border-line bg-canvas">
      {/* Scrolls sideways by itself, so that the page need not. */}
      <section
        id={id}
        aria-label={`Changes of ${file.name}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard must reach it
        tabIndex={0}
        className="overflow-x-auto py-1 font-mono text-xs leading-5"
      >
        <div className="w-max min-w-full">
          {shown.map((line, index) => (
            <Line key={index} line={line} />
          ))}
        </div>
      </section>
      {hidden > 0 && (
        <div className="border-t border-line p-2">
          <Button size="small" aria-controls={id} onClick={() => setWhole(true)}>
            Show {plural(hidden, "more line")}
          </Button>
        </div>
      )}
    </div>
  );
}

const LOOKS: Record<DiffLine["kind"], string> = {
  same: "",
  added: "bg-good-soft",
  removed: "bg-stop-soft",
  place: "text-ink-faint",
  note: "text-ink-faint italic",
};
const MARKS: Record<DiffLine["kind"], string> = {
  same: " ",
  added: "+",
  removed: "−",
  place: "…",
  note: " ",
};

function Line({ line }: { line: DiffLine }) {
  return (
    <div className={cx("flex", LOOKS[line.kind])}>
      <span aria-hidden className="w-10 shrink-0 pr-2 text-right text-ink-faint select-none max-sm:hidden">
        {line.number ?? ""}
      </span>
      <span
        className={cx(
          "w-5 shrink-0 text-center select-none",
          line.kind === "added" && "text-good",
          line.kind === "removed" && "text-stop",
        )}
      >
        {MARKS[line.kind]}
      </span>
      <span className="pr-3 whitespace-pre">{line.text || " "}</span>
    </div>
  );
}
