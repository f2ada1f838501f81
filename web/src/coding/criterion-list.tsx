import { Check, X } from "lucide-react";
import { Badge } from "@/ui/badge";
import type { Criterion } from "./shapes";

type CriterionListProps = {
  criteria: readonly Criterion[];
  label: string;
  /** For what rests on more than somebody's word. */
  verifiedWord: string;
};

/** What has to be so, whether it is, and what shows it: a test that ran, or somebody's word. */
export function CriterionList({ criteria, label, verifiedWord }: CriterionListProps) {
  return (
    <ul aria-label={label} className="space-y-2 text-sm">
      {criteria.map((one) => (
        <li key={one.text} className="flex items-start gap-2">
          {one.is_met ? (
            <Check role="img" aria-label="Met:" className="mt-0.5 size-4 shrink-0 text-good" />
          ) : (
            <X role="img" aria-label="Not met:" className="mt-0.5 size-4 shrink-0 text-stop" />
          )}
          <div className="min-w-0 flex-1 break-words">
            <span className="mr-1.5">{one.text}</span>
            {one.is_met && (
              <Badge tone={one.is_verified ? "good" : "neutral"}>
                {one.is_verified ? verifiedWord : "An agent's word"}
              </Badge>
            )}
            {one.evidence !== "" && <p className="text-xs break-words text-ink-soft">{one.evidence}</p>}
          </div>
        </li>
      ))}
    </ul>
  );
}
