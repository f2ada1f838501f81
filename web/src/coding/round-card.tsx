import { GitCommitHorizontal, History } from "lucide-react";
import type { ReactNode } from "react";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Card } from "@/ui/card";
import { ProblemNotice } from "@/ui/states";
import { money, plural } from "@/words/format";
import { useRestore } from "./coding-queries";
import { isTakenBack, linesWords, roundStanding, shortCommit } from "./coding-words";
import { CriterionList } from "./criterion-list";
import { DiffFold } from "./diff-view";
import { IssueList } from "./issue-list";
import type { Pass, Round } from "./shapes";
import { TestsRunItem } from "./tests-run";

type RoundCardProps = {
  runId: string;
  round: Round;
  roundsAtMost: number | null;
  /** The work is open, and this is not what it stands at. */
  canRestore: boolean;
};

/** One round: what was built, how the tests went, what the critic found, and its commit. */
export function RoundCard({ runId, round, roundsAtMost, canRestore }: RoundCardProps) {
  const { word, tone } = roundStanding(round);
  const title = `Round ${round.number}${roundsAtMost === null ? "" : ` of ${roundsAtMost}`}`;
  return (
    <Card title={title} aside={<Badge tone={tone}>{word}</Badge>}>
      <div className="space-y-4">
        {round.summary !== "" && <p className="text-sm break-words whitespace-pre-wrap">{round.summary}</p>}
        {round.tests.length > 0 && (
          <Part title="Tests">
            <ul className="space-y-2">
              {round.tests.map((tests, index) => (
                <TestsRunItem key={index} tests={tests} isTakenBack={isTakenBack(tests, round.passes)} />
              ))}
            </ul>
          </Part>
        )}
        {round.criteria.length > 0 && (
          <Part title="Success criteria">
            <CriterionList
              criteria={round.criteria}
              label={`Success criteria, round ${round.number}`}
              verifiedWord="A test shows it"
            />
          </Part>
        )}
        {(round.issues.length > 0 || round.left_out > 0) && (
          <Part title={`What the critic found (${round.issues.length})`}>
            <IssueList issues={round.issues} leftOut={round.left_out} />
          </Part>
        )}
        {round.passes.length > 0 && (
          <Part title="Made simpler">
            <Passes passes={round.passes} />
          </Part>
        )}
        {round.is_under_way && round.tests.length === 0 && (
          <p className="text-sm text-ink-soft">The builder is at work. Its tests come next.</p>
        )}
        {round.commit !== null && (
          <Committed runId={runId} round={round} commit={round.commit} canRestore={canRestore} />
        )}
      </div>
    </Card>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <h3 className="mb-1.5 text-xs font-medium text-ink-soft">{title}</h3>
      {children}
    </div>
  );
}

function Passes({ passes }: { passes: readonly Pass[] }) {
  return (
    <ul className="space-y-1 text-sm">
      {passes.map((pass) => (
        <li key={pass.number} className="break-words">
          <span className="tabular-nums">
            Pass {pass.number}: {pass.lines_before} → {plural(pass.lines_after, "line")},{" "}
          </span>
          <span className={pass.is_kept ? "text-good" : "text-notice"}>
            {pass.is_kept ? "kept" : "taken back"}
          </span>
          {pass.why !== "" && <span className="text-ink-soft">. {pass.why}</span>}
        </li>
      ))}
    </ul>
  );
}

type CommittedProps = { runId: string; round: Round; commit: string; canRestore: boolean };

function Committed({ runId, round, commit, canRestore }: CommittedProps) {
  const restore = useRestore(runId);
  return (
    <div className="border-t border-line pt-2">
      <DiffFold
        runId={runId}
        round={round.number}
        commit={commit}
        line={<span className="font-medium text-ink">What this round changed</span>}
      />
      <div className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-ink-soft">
        <span className="inline-flex items-center gap-1">
          <GitCommitHorizontal aria-hidden className="size-3.5" />
          <code className="font-mono" title={commit}>
            {shortCommit(commit)}
          </code>
        </span>
        <span className="tabular-nums">{linesWords(round)} since the beginning</span>
        <span className="tabular-nums">
          {round.cost_usd === null ? "cost unknown" : money(round.cost_usd)}
        </span>
        {canRestore && (
          <Button
            size="small"
            className="ml-auto"
            disabled={restore.isPending}
            onClick={() => restore.mutate(round.number)}
          >
            <History aria-hidden className="size-3.5" />
            {restore.isPending ? "Restoring …" : `Restore round ${round.number}`}
          </Button>
        )}
      </div>
      <p role="status" className="text-xs text-good">
        {restore.isSuccess && `Round ${round.number} is restored. What came after it stays in the history.`}
      </p>
      {restore.isError && (
        <ProblemNotice className="mt-2" error={restore.error} onRetry={() => restore.mutate(round.number)} />
      )}
    </div>
  );
}
