import { Hourglass, LoaderCircle } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { Schemas } from "@/api/client";
import { useContinue } from "@/chat/exchange/exchange-queries";
import { Button } from "@/ui/button";
import { ProblemNotice } from "@/ui/states";
import { closed } from "@/words/format";
import { AnswerCard } from "./answer-card";
import { useExamples } from "./coding-queries";
import { exampleName } from "./coding-words";
import { PriceCard } from "./price-card";
import type { Session } from "./shapes";

type WaitingCardProps = { session: Session; run: Schemas["RunDetail"] | undefined };

/** What the session waits for, if it does: an answer, a decision about its price, a review, somebody to go on. */
export function WaitingCard({ session, run }: WaitingCardProps) {
  if (session.run_phase === "BUDGET_REVIEW") return <UnderReview run={run} />;
  if (session.run_phase === "RUNNING") {
    return run?.is_left_open ? <LeftOpen runId={session.run_id} /> : null;
  }
  const { asked, open_price } = session;
  if (asked === null) return null;
  // Another question is another card: what was typed or sent for the one before does not stay.
  const key = `${session.prices.length} ${asked.question}`;
  if (open_price !== null) {
    return (
      <PriceCard
        key={key}
        runId={session.run_id}
        price={open_price}
        title={session.specification?.title ?? ""}
        rules={session.price_rules}
        notUnderstood={asked.not_understood}
      />
    );
  }
  return <Question key={key} session={session} question={asked.question} />;
}

function Question({ session, question }: { session: Session; question: string }) {
  const name = exampleName(session.model);
  const examples = useExamples();
  const example = examples.data?.find((one) => one.name === name);
  return (
    <AnswerCard
      runId={session.run_id}
      question={question}
      suggestion={session.phase === "interview" ? (example?.answers[0] ?? null) : null}
    />
  );
}

function Waits({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section
      aria-label={title}
      className="flex items-start gap-2.5 rounded-card border border-notice-line bg-notice-soft p-4 text-sm"
    >
      <Hourglass aria-hidden className="mt-0.5 size-4 shrink-0 text-notice" />
      <div className="min-w-0 flex-1 space-y-1 break-words">
        <h2 className="font-semibold">{title}</h2>
        {children}
      </div>
    </section>
  );
}

function UnderReview({ run }: { run: Schemas["RunDetail"] | undefined }) {
  return (
    <Waits title="It waits for a review">
      {run?.reason && <p>{closed(run.reason)}</p>}
      <Link to="/reviews" className="font-medium text-accent underline underline-offset-2">
        Decide it among the reviews
      </Link>
    </Waits>
  );
}

function LeftOpen({ runId }: { runId: string }) {
  const going = useContinue(runId);
  return (
    <Waits title="Nobody works on this any more">
      <p>The process that ran it has ended. Nothing is lost: it goes on from where it stood.</p>
      <Button look="primary" disabled={going.isPending} onClick={() => going.mutate(null)}>
        {going.isPending && <LoaderCircle aria-hidden className="size-4 animate-spin" />}
        {going.isPending ? "Going on …" : "Go on"}
      </Button>
      {going.isError && <ProblemNotice error={going.error} onRetry={() => going.mutate(null)} />}
    </Waits>
  );
}
