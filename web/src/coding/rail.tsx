import { ArrowRight } from "lucide-react";
import { Link } from "react-router";
import type { Schemas } from "@/api/client";
import { Card } from "@/ui/card";
import { MeterBar } from "@/ui/meter-bar";
import { commandWords, shortCommit } from "./coding-words";
import { METERS_TO_COME, sessionMeters } from "./meters";
import type { Session } from "./shapes";

type BudgetCardProps = { runId: string; run: Schemas["RunDetail"] | undefined };

/** What is used of the session's budget, and what is left. */
export function BudgetCard({ runId, run }: BudgetCardProps) {
  return (
    <Card title="Budget">
      <div aria-busy={run === undefined} className="grid grid-cols-2 gap-3 lg:grid-cols-1">
        {(run === undefined ? METERS_TO_COME : sessionMeters(run)).map(({ key, ...meter }) => (
          <MeterBar key={key} {...meter} />
        ))}
      </div>
      <Link
        to={`/runs/${encodeURIComponent(runId)}`}
        className="mt-3 inline-flex items-center gap-1 text-sm text-accent underline underline-offset-2"
      >
        Everything about this run
        <ArrowRight aria-hidden className="size-3.5" />
      </Link>
    </Card>
  );
}

/** Where it works, and with what. */
export function PlaceCard({ session }: { session: Session }) {
  return (
    <Card title="Where it works">
      <dl className="space-y-2 text-sm">
        <Line term="Repository" isCode>
          {session.repository}
        </Line>
        <Line term="Branch of its own" isCode>
          {session.branch}
        </Line>
        <Line term="Began from" isCode>
          {shortCommit(session.base)}
        </Line>
        <Line term="Tests" isCode>
          {commandWords(session.test_command)}
        </Line>
        <Line term="Commands are confined by">{session.confinement}</Line>
        <Line term="Accepted as it is">{session.concerns.join(" ")}</Line>
        <Line term="Model" isCode>
          {session.model}
        </Line>
      </dl>
    </Card>
  );
}

function Line({ term, isCode = false, children }: { term: string; isCode?: boolean; children: string }) {
  if (children === "") return null;
  return (
    <div>
      <dt className="text-xs text-ink-faint">{term}</dt>
      <dd className={isCode ? "font-mono text-xs break-all" : "text-xs break-words"}>{children}</dd>
    </div>
  );
}
