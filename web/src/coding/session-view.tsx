import { ArrowLeft } from "lucide-react";
import { Link, useParams } from "react-router";
import type { Schemas } from "@/api/client";
import { Page } from "@/ui/page";
import { Loading, ProblemNotice } from "@/ui/states";
import { useCodingSession, useFresh, useSessionRun } from "./coding-queries";
import { EndingCard, EvidenceCard } from "./ending-card";
import { NowLine } from "./now-line";
import { PlanCard } from "./plan-card";
import { BudgetCard, PlaceCard } from "./rail";
import { RoundCard } from "./round-card";
import { RoundsTable } from "./rounds-table";
import type { Session } from "./shapes";
import { SpecificationCard } from "./specification-card";
import { Stepper } from "./stepper";
import { StopMenu } from "./stop-menu";
import { WaitingCard } from "./waiting-card";
import { WorkCard } from "./work-card";

const MOST_TITLE_CHARS = 200;

/** One session: where it stands, what it asks, what it has built, how it ended. */
export function Component() {
  const { runId = "" } = useParams();
  const found = useCodingSession(runId);
  if (found.isPending) return <Loading what="Reading the session" />;
  if (found.data === undefined) {
    return (
      <Page title="Coding session" lead={<BackToAll />}>
        <ProblemNotice error={found.error} onRetry={() => void found.refetch()} />
      </Page>
    );
  }
  return (
    <SessionPage key={runId} session={found.data} error={found.error} onRetry={() => void found.refetch()} />
  );
}

type SessionPageProps = { session: Session; error: Error | null; onRetry: () => void };

function SessionPage({ session, error, onRetry }: SessionPageProps) {
  const run = useSessionRun(session.run_id);
  useFresh(session.run_id, run.data?.phase);
  const isGoing = session.run_phase === "RUNNING" && !(run.data?.is_left_open ?? false);
  const isOver = session.run_phase === "ENDED";
  return (
    <Page
      title={cut(session.intent.trim() || "Without an intent")}
      lead={<BackToAll />}
      aside={!isOver && <StopMenu runId={session.run_id} />}
    >
      <div className="space-y-4">
        {error !== null && <ProblemNotice error={error} onRetry={onRetry} />}
        <Stepper session={session} isMoving={isGoing} />
        {isGoing && <NowLine runId={session.run_id} />}
        {/* Where there is little room, what is left of the budget still comes first. */}
        <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_18rem] lg:grid-rows-[auto_1fr]">
          <div className="min-w-0 space-y-4 lg:col-start-2">
            {run.isError && <ProblemNotice error={run.error} onRetry={() => void run.refetch()} />}
            <BudgetCard runId={session.run_id} run={run.data} />
          </div>
          <div className="min-w-0 space-y-4 lg:col-start-1 lg:row-span-2 lg:row-start-1">
            <Course session={session} run={run.data} isOver={isOver} />
          </div>
          <div className="min-w-0 lg:col-start-2">
            <PlaceCard session={session} />
          </div>
        </div>
      </div>
    </Page>
  );
}

type CourseProps = { session: Session; run: Schemas["RunDetail"] | undefined; isOver: boolean };

/** What somebody has to know or do first; then how it went, in its order. */
function Course({ session, run, isOver }: CourseProps) {
  const canRestore = isOver && session.standing === "open" && session.commits.length > 1;
  return (
    <>
      {isOver ? <EndingCard session={session} /> : <WaitingCard session={session} run={run} />}
      {isOver && <WorkCard session={session} />}
      <EvidenceCard session={session} />
      <SpecificationCard session={session} />
      <PlanCard session={session} />
      <RoundsTable rounds={session.rounds} />
      {session.rounds.map((round) => (
        <RoundCard
          key={round.number}
          runId={session.run_id}
          round={round}
          roundsAtMost={session.rounds_at_most}
          canRestore={canRestore && session.commits.some((one) => one.round === round.number)}
        />
      ))}
    </>
  );
}

function cut(text: string): string {
  return text.length <= MOST_TITLE_CHARS ? text : `${text.slice(0, MOST_TITLE_CHARS - 1).trimEnd()}…`;
}

function BackToAll() {
  return (
    <Link to="/coding" className="inline-flex items-center gap-1 text-accent hover:underline">
      <ArrowLeft aria-hidden className="size-3.5" />
      All sessions
    </Link>
  );
}
