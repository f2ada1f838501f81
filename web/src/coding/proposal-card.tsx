import { LoaderCircle, Play, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { Button } from "@/ui/button";
import { Fold } from "@/ui/fold";
import { ProblemNotice } from "@/ui/states";
import { capital, count, duration } from "@/words/format";
import type { useBegin } from "./coding-queries";
import { commandWords, shortCommit } from "./coding-words";
import { FactLine, FactList } from "./fact-list";
import type { Proposal } from "./shapes";
import { askedOf, type Wanted, yesUnderOf } from "./wanted";

type ProposalCardProps = { wanted: Wanted; proposal: Proposal; begin: ReturnType<typeof useBegin> };

/** All that can be known before anything is spent; and the button that begins it. */
export function ProposalCard({ wanted, proposal, begin }: ProposalCardProps) {
  const [accepts, setAccepts] = useState(false);
  const isAccepted = proposal.concerns.length === 0 || accepts;
  const isUnderWay = begin.isPending || begin.isSuccess;
  const start = () => {
    const yesUnder = yesUnderOf(wanted);
    begin.mutate({
      ...askedOf(wanted),
      accepts_concerns: accepts,
      ...(yesUnder !== undefined && { yes_under_usd: yesUnder }),
    });
  };
  return (
    <section
      aria-label="Before it begins"
      className="mt-4 space-y-3 rounded-card border border-accent/40 bg-accent-soft/40 p-4"
    >
      <h2 className="text-sm font-semibold">Before it begins</h2>
      <p className="text-lg font-semibold tabular-nums">{capital(proposal.text)}</p>
      <FactList>
        <FactLine term="Works in">
          <code className="font-mono text-xs break-all">{proposal.repository}</code>, from{" "}
          <code className="font-mono text-xs">{shortCommit(proposal.head)}</code>
          {proposal.branch !== null && ` of ${proposal.branch}`}, on a branch of its own
        </FactLine>
        <FactLine term="Model">
          <code className="font-mono text-xs break-all">{proposal.model}</code>
        </FactLine>
        <FactLine term="Tests">
          <code className="font-mono text-xs break-all">{commandWords(proposal.test_command)}</code>
        </FactLine>
        <FactLine term="Commands">{proposal.confinement}</FactLine>
      </FactList>
      <Phases proposal={proposal} />
      {proposal.concerns.length > 0 && (
        <Concerns concerns={proposal.concerns} isAccepted={accepts} onAccept={setAccepts} />
      )}
      <Button look="primary" disabled={!isAccepted || isUnderWay} onClick={start}>
        {isUnderWay ? (
          <LoaderCircle aria-hidden className="size-4 animate-spin" />
        ) : (
          <Play aria-hidden className="size-4" />
        )}
        {isUnderWay ? "Starting …" : "Start"}
      </Button>
      {begin.isError && <ProblemNotice error={begin.error} onRetry={start} />}
    </section>
  );
}

function Phases({ proposal }: { proposal: Proposal }) {
  return (
    <Fold line="What each phase can use at most">
      <ul aria-label="Phases" className="divide-y divide-line pl-5 text-sm">
        {proposal.phases.map((phase) => (
          <li key={phase.name} className="flex flex-wrap gap-x-3 py-1">
            <span className="w-20 shrink-0 font-medium">{capital(phase.name)}</span>
            <span className="tabular-nums">
              {count(phase.turns)} turns, {count(phase.model_calls)} model calls
              {phase.seconds !== null && `, ${duration(phase.seconds)}`}
            </span>
            <span className="text-ink-soft">{phase.how}</span>
          </li>
        ))}
      </ul>
      <p className="pt-1 pl-5 text-xs text-ink-soft">
        All of them together stay inside the budget of the session.
      </p>
    </Fold>
  );
}

type ConcernsProps = {
  concerns: readonly string[];
  isAccepted: boolean;
  onAccept: (isAccepted: boolean) => void;
};

function Concerns({ concerns, isAccepted, onAccept }: ConcernsProps) {
  return (
    <div className="rounded-control border border-notice-line bg-notice-soft p-3 text-sm">
      <ul aria-label="What is unusual" className="space-y-1">
        {concerns.map((concern) => (
          <li key={concern} className="flex items-start gap-2">
            <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-notice" />
            <span className="min-w-0 break-words">{concern}</span>
          </li>
        ))}
      </ul>
      <label className="mt-2 flex items-center gap-2 font-medium">
        <input
          type="checkbox"
          checked={isAccepted}
          onChange={(event) => onAccept(event.target.checked)}
          className="size-4 accent-accent"
        />
        That is all right
      </label>
    </div>
  );
}
