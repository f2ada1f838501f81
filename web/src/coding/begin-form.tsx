import { Eye, LoaderCircle } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import { useNavigate } from "react-router";
import { asProblem } from "@/api/problem";
import { Button } from "@/ui/button";
import { Fold } from "@/ui/fold";
import { ProblemNotice } from "@/ui/states";
import { MOST_CHARS_SAID } from "@/words/offers";
import { useBegin, usePropose } from "./coding-queries";
import { MoreFields } from "./more-fields";
import { ProposalCard } from "./proposal-card";
import type { Offer } from "./shapes";
import { TextField } from "./text-field";
import { askedOf, missing, NOTHING_WANTED, type Wanted } from "./wanted";

type BeginFormProps = {
  offer: Offer;
  /** Repositories of sessions before. */
  known: readonly string[];
};

/** An intent and a repository. First it is looked at, which costs nothing; then it may begin. */
export function BeginForm({ offer, known }: BeginFormProps) {
  const id = useId();
  const navigate = useNavigate();
  const [wanted, setWanted] = useState<Wanted>({
    ...NOTHING_WANTED,
    repository: offer.repositories[0] ?? known[0] ?? "",
  });
  const propose = usePropose();
  const begin = useBegin((runId) => void navigate(`/coding/${encodeURIComponent(runId)}`));
  const change = (part: Partial<Wanted>) => setWanted({ ...wanted, ...part });
  const asked = askedOf(wanted);
  const lacks = missing(wanted, !offer.can_code);
  // A proposal is about what was asked then: whoever changes something has to look again.
  const isCurrent = JSON.stringify(propose.variables) === JSON.stringify(asked);
  const wrongField = isCurrent && propose.isError ? fieldOf(propose.error) : null;
  const look = (event: FormEvent) => {
    event.preventDefault();
    begin.reset();
    if (lacks === null && !propose.isPending) propose.mutate(asked);
  };
  return (
    <>
      <form onSubmit={look} className="space-y-4">
        <TextField
          label="What is to be built?"
          name="intent"
          value={wanted.intent}
          onChange={(intent) => change({ intent })}
          rows={3}
          most={MOST_CHARS_SAID}
          placeholder="Add a --json option to the report command"
          isWrong={wrongField === "intent"}
        />
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Repository"
            name="repository"
            value={wanted.repository}
            onChange={(repository) => change({ repository })}
            choices={[...new Set([...offer.repositories, ...known])]}
            placeholder="/home/you/project"
            hint={
              offer.any_repository
                ? "The folder of a git repository. Your files stay as they are until you accept the work."
                : "One that this server was started for."
            }
            isWrong={wrongField === "repository"}
          />
          <TextField
            label="Model"
            name="model"
            value={wanted.model}
            onChange={(model) => change({ model })}
            placeholder={offer.can_code ? offer.model : "provider:model"}
            hint={
              offer.can_code
                ? "Left empty, it is the configured one."
                : "The configured one cannot write code: name one that can."
            }
            isWrong={wrongField === "model"}
          />
        </div>
        <Fold line="More: tests, limits, what needs no asking">
          <MoreFields wanted={wanted} onChange={change} wrongField={wrongField} />
        </Fold>
        <div className="flex flex-wrap items-center gap-3">
          <Button
            type="submit"
            look={isCurrent && propose.isSuccess ? "plain" : "primary"}
            disabled={lacks !== null || propose.isPending || begin.isPending}
            aria-describedby={`${id}-look`}
          >
            {propose.isPending ? (
              <LoaderCircle aria-hidden className="size-4 animate-spin" />
            ) : (
              <Eye aria-hidden className="size-4" />
            )}
            {propose.isPending ? "Looking …" : "Look first"}
          </Button>
          <p id={`${id}-look`} className="text-sm text-ink-soft">
            {lacks ?? "Shows what it can cost at most. Nothing is started yet."}
          </p>
        </div>
      </form>
      {isCurrent && propose.isError && (
        <ProblemNotice className="mt-4" error={propose.error} onRetry={() => propose.mutate(asked)} />
      )}
      {isCurrent && propose.data !== undefined && (
        <ProposalCard wanted={wanted} proposal={propose.data} begin={begin} />
      )}
    </>
  );
}

/** The field that a refusal is about, if it names one. */
function fieldOf(error: unknown): string | null {
  return asProblem(error).detail.field ?? null;
}
