import { Card } from "@/ui/card";
import { Fold } from "@/ui/fold";
import { count, plural, UNKNOWN } from "@/words/format";
import { FactLine, FactList } from "./fact-list";
import type { Attempt, Session, Specification } from "./shapes";

/** What is to be built, and the attempts it took to say so. */
export function SpecificationCard({ session }: { session: Session }) {
  const { attempts, specification, brief } = session;
  if (attempts.length === 0 && brief === "") return null;
  const holds = specification ?? null;
  const isNow = session.phase === "interview" || session.phase === "specify" || session.phase === "price";
  return (
    <Card title="Specification">
      {brief !== "" && (
        <Fold line={<span className="truncate">What the interview brought</span>}>
          <p className="pb-2 pl-5 text-sm break-words whitespace-pre-wrap text-ink-soft">{brief}</p>
        </Fold>
      )}
      {holds !== null && (
        <Fold
          isOpenAtFirst={isNow}
          line={<span className="truncate font-medium text-ink">{holds.title || "Without a title"}</span>}
        >
          <div className="pt-1 pb-2 pl-5">
            <Specified specification={holds} />
          </div>
        </Fold>
      )}
      {attempts.length > 0 && <Attempts attempts={attempts} isOpenAtFirst={holds === null} />}
    </Card>
  );
}

function Specified({ specification }: { specification: Specification }) {
  const { success_criteria, acceptance_tests, lines_of_code, risk, notes } = specification;
  return (
    <FactList>
      <FactLine term="Done when">
        <Items items={success_criteria} />
      </FactLine>
      <FactLine term="Tested by">
        <Items items={acceptance_tests} />
      </FactLine>
      <FactLine term="Lines at most">{count(lines_of_code)}</FactLine>
      <FactLine term="Risk">{risk ?? UNKNOWN}</FactLine>
      {notes !== "" && (
        <FactLine term="Notes">
          <span className="whitespace-pre-wrap">{notes}</span>
        </FactLine>
      )}
    </FactList>
  );
}

function Items({ items }: { items: readonly string[] }) {
  if (items.length === 0) return "nothing yet";
  return (
    <ul className="list-disc space-y-0.5 pl-4">
      {items.map((item) => (
        <li key={item}>{item}</li>
      ))}
    </ul>
  );
}

function Attempts({ attempts, isOpenAtFirst }: { attempts: readonly Attempt[]; isOpenAtFirst: boolean }) {
  const hasCycles = attempts.some((one) => one.cycle > 1);
  return (
    <Fold isOpenAtFirst={isOpenAtFirst} line={plural(attempts.length, "attempt")}>
      <ol aria-label="Attempts" className="space-y-1 pl-5 text-sm">
        {attempts.map((one) => (
          <li key={`${one.cycle}.${one.attempt}`} className="break-words">
            <span className="text-ink-faint">
              {hasCycles && `Cycle ${one.cycle}, a`}
              {!hasCycles && "A"}ttempt {one.attempt}:
            </span>{" "}
            {one.lacking.length === 0 ? (
              <span className="text-good">complete</span>
            ) : (
              <span className="text-notice">lacks {one.lacking.join(", ")}</span>
            )}
          </li>
        ))}
      </ol>
    </Fold>
  );
}
