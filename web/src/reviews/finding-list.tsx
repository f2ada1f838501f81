import type { Schemas } from "@/api/client";
import { Badge } from "@/ui/badge";
import { plural } from "@/words/format";

type Finding = Schemas["FindingShape"];

/** What was noticed about the run, with what shows it. */
export function FindingList({ findings }: { findings: readonly Finding[] }) {
  if (findings.length === 0) {
    return <p className="mt-3 text-sm text-ink-soft">The detectors reported nothing.</p>;
  }
  return (
    <div className="mt-3">
      <h4 className="mb-1 text-sm font-medium">What was noticed</h4>
      <ul className="space-y-2">
        {findings.map((finding, index) => (
          <li key={index} className="rounded-control border border-line p-3 text-sm">
            <div className="flex flex-wrap items-center gap-2">
              <Badge tone="notice">{finding.pattern.replaceAll("_", " ")}</Badge>
              {finding.times > 1 && (
                <span className="text-xs text-ink-faint">{plural(finding.times, "time")}</span>
              )}
            </div>
            <p className="mt-1 break-words">{finding.message}</p>
            {finding.advice && <p className="break-words text-ink-soft">{finding.advice}</p>}
            <Evidence evidence={finding.evidence} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Evidence({ evidence }: { evidence: readonly string[] }) {
  if (evidence.length === 0) return null;
  return (
    <details className="mt-1">
      <summary className="cursor-pointer rounded py-0.5 text-ink-soft hover:text-ink">
        Evidence ({evidence.length})
      </summary>
      <ul className="mt-1 space-y-0.5 border-l-2 border-line pl-3 font-mono text-xs break-words text-ink-soft">
        {evidence.map((line, index) => (
          <li key={index}>{line}</li>
        ))}
      </ul>
    </details>
  );
}
