import { ArrowLeft } from "lucide-react";
import { Link, useParams } from "react-router";
import { cx } from "@/ui/cx";
import { Page } from "@/ui/page";
import { Loading, ProblemNotice } from "@/ui/states";
import { AnswerCard } from "./answer-card";
import { AuditCard } from "./audit-card";
import { BurndownCard } from "./burndown-card";
import { EndingCard } from "./ending-card";
import { FindingsCard } from "./findings-card";
import { MetersCard } from "./meters-card";
import { RunActions } from "./run-actions";
import { RunLead } from "./run-lead";
import { useGrowth, useRunDetail } from "./run-queries";
import type { RunDetail } from "./run-shapes";
import { cut } from "./run-words";
import { SignalsCard } from "./signals-card";
import { SourcesCard } from "./sources-card";
import { TimelineCard } from "./timeline-card";

const MOST_TITLE_CHARS = 200;

/** One run: how it ended first, then what it used, what it said, what was found, and every fact. */
export function Component() {
  const { runId = "" } = useParams();
  const found = useRunDetail(runId);
  if (found.isPending) return <Loading what="Reading the record" />;
  if (found.data === undefined) {
    return (
      <Page title="Run" lead={<BackToRuns />}>
        <ProblemNotice error={found.error} onRetry={() => void found.refetch()} />
      </Page>
    );
  }
  return <RunPage key={runId} run={found.data} error={found.error} onRetry={() => void found.refetch()} />;
}

function RunPage({ run, error, onRetry }: { run: RunDetail; error: Error | null; onRetry: () => void }) {
  useGrowth(run);
  const question = run.question.trim() || "Without a question";
  return (
    <Page
      title={cut(question, MOST_TITLE_CHARS)}
      lead={<RunLead run={run} />}
      aside={<RunActions run={run} />}
    >
      <div className="space-y-4">
        {error !== null && <ProblemNotice error={error} onRetry={onRetry} />}
        {question.length > MOST_TITLE_CHARS && <WholeQuestion text={question} />}
        <EndingCard run={run} />
        <div className="grid gap-4 lg:grid-cols-3">
          <div className="min-w-0 space-y-4">
            <MetersCard run={run} />
            <AuditCard run={run} />
          </div>
          <BurndownCard run={run} className="min-w-0 lg:col-span-2" />
        </div>
        <AnswerCard run={run} />
        <SourcesCard sources={run.sources} />
        <div className={cx("grid gap-4", run.findings.length === 0 && "lg:grid-cols-2")}>
          <FindingsCard findings={run.findings} />
          <SignalsCard signals={run.signals} />
        </div>
        <TimelineCard runId={run.run_id} />
      </div>
    </Page>
  );
}

function WholeQuestion({ text }: { text: string }) {
  return (
    <details className="rounded-card border border-line bg-panel p-4 text-sm">
      <summary className="cursor-pointer font-medium">The whole question</summary>
      <p className="mt-2 break-words whitespace-pre-wrap">{text}</p>
    </details>
  );
}

function BackToRuns() {
  return (
    <Link to="/runs" className="inline-flex items-center gap-1 text-accent hover:underline">
      <ArrowLeft aria-hidden className="size-3.5" />
      All runs
    </Link>
  );
}
