import { TriangleAlert } from "lucide-react";
import { Card } from "@/ui/card";
import { capital, count } from "@/words/format";
import { evidenceOf } from "./evidence";
import type { Finding } from "./run-shapes";

const MOST_SHOWN = 12;

/** What the detectors found, each with its evidence side by side: that it is the same again can be seen. */
export function FindingsCard({ findings }: { findings: readonly Finding[] }) {
  return (
    <Card title={findings.length === 0 ? "Findings" : `Findings (${count(findings.length)})`}>
      {findings.length === 0 ? (
        <p className="text-sm text-ink-soft">Nothing was found: no loop, no repetition, no standstill.</p>
      ) : (
        <ol className="space-y-5">
          {findings.map((finding, at) => (
            <FindingItem key={at} finding={finding} />
          ))}
        </ol>
      )}
    </Card>
  );
}

function FindingItem({ finding }: { finding: Finding }) {
  const evidence = finding.evidence.slice(0, MOST_SHOWN).map(evidenceOf);
  const left = finding.evidence.length - evidence.length;
  return (
    <li>
      <h3 className="flex items-center gap-2 text-sm font-semibold">
        <TriangleAlert aria-hidden className="size-4 shrink-0 text-notice" />
        {capital(finding.pattern.replaceAll("_", " "))}
        <span className="font-normal text-ink-soft">{count(finding.times)} times</span>
      </h3>
      <p className="mt-1 text-sm break-words">{finding.message}</p>
      {finding.advice !== "" && <p className="mt-0.5 text-sm break-words text-ink-soft">{finding.advice}</p>}
      <ul aria-label="Evidence" className="mt-2 grid gap-2 sm:grid-cols-2 lg:grid-cols-3">
        {evidence.map((one, at) => (
          <li key={at} className="min-w-0 rounded-control border border-line bg-canvas p-2.5">
            {one.where !== "" && <p className="text-xs font-medium text-ink-soft">{capital(one.where)}</p>}
            <p className="line-clamp-6 font-mono text-xs break-words whitespace-pre-wrap">{one.what}</p>
          </li>
        ))}
      </ul>
      {left > 0 && <p className="mt-1 text-xs text-ink-soft">and {count(left)} more, in the timeline.</p>}
    </li>
  );
}
