import { Check, X } from "lucide-react";
import { Badge } from "@/ui/badge";
import { Card } from "@/ui/card";
import { Loading, ProblemNotice } from "@/ui/states";
import { capital } from "@/words/format";
import { useAudit } from "./run-queries";
import type { Audit, RunDetail } from "./run-shapes";

/** Did it keep its promises? Proved from the record alone. */
export function AuditCard({ run }: { run: RunDetail }) {
  const isEnded = run.phase === "ENDED";
  const audit = useAudit(run.run_id, isEnded);
  const result = isEnded ? audit.data : undefined;
  const badge = result && (
    <Badge tone={result.holds ? "good" : "stop"}>{result.holds ? "Holds" : "Does not hold"}</Badge>
  );
  return (
    <Card title="Audit" aside={badge}>
      {!isEnded && (
        <p className="text-sm text-ink-soft">
          A whole record can be audited: this comes when the run has ended.
        </p>
      )}
      {isEnded && audit.isPending && <Loading what="Auditing" />}
      {audit.isError && <ProblemNotice error={audit.error} onRetry={() => void audit.refetch()} />}
      {result && <Checks audit={result} />}
    </Card>
  );
}

function Checks({ audit }: { audit: Audit }) {
  return (
    <ul className="space-y-2 text-sm">
      {audit.checks.map((check) => (
        <li key={check.name} className="flex items-start gap-2">
          {check.holds ? (
            <Check aria-label="Holds:" role="img" className="mt-0.5 size-4 shrink-0 text-good" />
          ) : (
            <X aria-label="Does not hold:" role="img" className="mt-0.5 size-4 shrink-0 text-stop" />
          )}
          <span className="min-w-0 break-words">
            {capital(check.name)}
            {check.detail !== "" && <span className="block text-xs text-ink-soft">{check.detail}</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}
