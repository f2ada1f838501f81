import { useSession } from "@/api/session";
import { Card } from "@/ui/card";
import { Fold } from "@/ui/fold";
import { money, plural } from "@/words/format";
import { alternativeWord, whoWords } from "./coding-words";
import type { Priced, Session } from "./shapes";

/** What was decided about prices, and what the build is going to do. */
export function PlanCard({ session }: { session: Session }) {
  const user = useSession().data?.user;
  // The one that is being decided about has a card of its own.
  const decided = session.prices.filter(({ price }) => price.cycle !== session.open_price?.cycle);
  if (decided.length === 0 && session.plan.length === 0) return null;
  return (
    <Card title={session.plan.length === 0 ? "Price" : "Price and plan"}>
      <ul aria-label="Prices" className="space-y-1 text-sm">
        {decided.map((priced) => (
          <li key={priced.price.cycle} className="break-words">
            <span className="font-medium tabular-nums">{money(priced.price.price_usd)}</span>
            <span className="text-ink-soft"> at most, {decisionWords(priced, user)}</span>
          </li>
        ))}
      </ul>
      {session.plan.length > 0 && (
        <Fold className="mt-1" line={`${plural(session.plan.length, "task")} to do`}>
          <ol className="list-decimal space-y-0.5 pl-9 text-sm">
            {session.plan.map((task) => (
              <li key={task} className="break-words">
                {task}
              </li>
            ))}
          </ol>
        </Fold>
      )}
    </Card>
  );
}

function decisionWords({ decision }: Priced, reader: string | undefined): string {
  if (decision === null) return "not decided";
  const who = whoWords(decision.by, reader);
  if (decision.choice === "alternative" && decision.alternative !== null) {
    return `and ${who} chose otherwise: ${alternativeWord(decision.alternative.kind).toLowerCase()}`;
  }
  return `${decision.choice} by ${who}`;
}
