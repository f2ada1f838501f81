import { Badge } from "@/ui/badge";
import { plural } from "@/words/format";
import { GRAVITIES, gravestFirst } from "./coding-words";
import type { Issue } from "./shapes";

/** What the critic found, gravest first. */
export function IssueList({ issues, leftOut }: { issues: readonly Issue[]; leftOut: number }) {
  return (
    <>
      <ul aria-label="Issues" className="space-y-2 text-sm">
        {gravestFirst(issues).map((issue) => (
          <li key={`${issue.title} ${issue.file} ${issue.line}`} className="min-w-0 break-words">
            <Badge tone={GRAVITIES[issue.gravity].tone}>{GRAVITIES[issue.gravity].word}</Badge>{" "}
            <span className="font-medium">{issue.title}</span>
            {issue.file !== "" && (
              <code className="ml-1.5 font-mono text-xs break-all text-ink-soft">
                {issue.file}
                {issue.line !== null && `:${issue.line}`}
              </code>
            )}
            {issue.detail !== "" && (
              <p className="mt-0.5 whitespace-pre-wrap text-ink-soft">{issue.detail}</p>
            )}
          </li>
        ))}
      </ul>
      {leftOut > 0 && (
        <p className="mt-2 text-xs text-ink-soft">
          {plural(leftOut, "more was", "more were")} left out: too many, or not grave enough so late.
        </p>
      )}
    </>
  );
}
