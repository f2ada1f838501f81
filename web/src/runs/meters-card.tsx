import { Card } from "@/ui/card";
import { MeterBar } from "@/ui/meter-bar";
import { duration, plural } from "@/words/format";
import type { Grant, RunDetail } from "./run-shapes";
import { amount, meterLabel, metersOf } from "./run-words";

/** What was used of each limit. */
export function MetersCard({ run }: { run: RunDetail }) {
  return (
    <Card title="Used of what was allowed">
      <div className="space-y-3">
        {metersOf(run).map(({ kind, ...meter }) => (
          <MeterBar key={kind} {...meter} />
        ))}
      </div>
      {run.unknown_cost_calls > 0 && (
        <p className="mt-3 text-xs text-ink-soft">
          The price of {plural(run.unknown_cost_calls, "call")} is unknown, so the whole cost is, too.
        </p>
      )}
      <p className="mt-3 text-xs text-ink-soft">
        The tick is where the warning comes; what is hatched is kept for finishing.
      </p>
      {run.grants.length > 0 && <Grants grants={run.grants} />}
    </Card>
  );
}

function Grants({ grants }: { grants: readonly Grant[] }) {
  return (
    <div className="mt-3 border-t border-line pt-3 text-sm">
      <h3 className="text-xs font-medium text-ink-soft">Granted on top</h3>
      <ul className="mt-1 space-y-1">
        {grants.map((grant) => (
          <li key={`${grant.at_s} ${grant.by}`} className="break-words">
            {Object.entries(grant.added)
              .map(([kind, more]) => `${amount(kind, more)} ${meterLabel(kind).toLowerCase()}`)
              .join(", ")}{" "}
            <span className="text-ink-soft">
              by {grant.by}, after {duration(grant.at_s)}: {grant.why}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
