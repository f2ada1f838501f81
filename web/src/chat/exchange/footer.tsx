import { ChevronsDownUp, ChevronsUpDown, GitBranch, LoaderCircle, SquareArrowOutUpRight } from "lucide-react";
import { Link } from "react-router";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy-button";

/** What the run does now; stands where the buttons stand later, so that nothing jumps. */
export function Progress({ words }: { words: string }) {
  return (
    <p className="flex min-h-7 items-center gap-2 text-sm text-ink-faint">
      <LoaderCircle aria-hidden className="size-3.5 animate-spin" />
      {words} …
    </p>
  );
}

type FooterProps = {
  runId: string;
  answer: string | null;
  /** Null if there is nothing to fold, or it is not known. */
  work: "shown" | "opening" | "hidden" | null;
  onWork: () => void;
  onBranch: () => void;
};

export function Footer({ runId, answer, work, onWork, onBranch }: FooterProps) {
  return (
    <div className="-ml-2.5 flex min-h-7 flex-wrap items-center gap-0.5">
      {work !== null && (
        <Button look="ghost" size="small" aria-expanded={work === "shown"} onClick={onWork}>
          {work === "opening" && <LoaderCircle aria-hidden className="size-3.5 animate-spin" />}
          {work === "shown" && <ChevronsDownUp aria-hidden className="size-3.5" />}
          {work === "hidden" && <ChevronsUpDown aria-hidden className="size-3.5" />}
          {work === "shown" ? "Hide the work" : "Show the work"}
        </Button>
      )}
      {answer !== null && <CopyButton label="Copy answer" text={() => answer} />}
      <Button look="ghost" size="small" onClick={onBranch}>
        <GitBranch aria-hidden className="size-3.5" />
        Branch from here
      </Button>
      <Link
        to={`/runs/${encodeURIComponent(runId)}`}
        className="inline-flex h-7 items-center gap-1.5 rounded-control px-2.5 text-xs font-medium text-ink-soft hover:bg-line/50 hover:text-ink"
      >
        <SquareArrowOutUpRight aria-hidden className="size-3.5" />
        The run
      </Link>
    </div>
  );
}
