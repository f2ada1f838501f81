import { useState } from "react";
import { Button } from "@/ui/button";
import { Card } from "@/ui/card";
import { count, plural } from "@/words/format";
import type { RunDetail } from "./run-shapes";

const FEW = 8;

/** What the answer rests on; each opens its passage. */
export function SourcesCard({ sources }: { sources: RunDetail["sources"] }) {
  const [isAll, setAll] = useState(false);
  const shown = isAll ? sources : sources.slice(0, FEW);
  if (sources.length === 0) return null;
  return (
    <Card title={plural(sources.length, "source")}>
      <ul className="grid items-start gap-2 lg:grid-cols-2">
        {shown.map(({ title, location, passage }, at) => (
          <li key={`${at} ${location}`} className="min-w-0">
            <details className="rounded-control border border-line px-3 py-2 text-sm">
              <summary className="cursor-pointer break-words">
                {!location.startsWith(title) && <span className="font-medium">{title} </span>}
                <span className="break-all text-ink-soft">{location}</span>
              </summary>
              <pre className="mt-2 font-mono text-xs break-words whitespace-pre-wrap">{passage}</pre>
            </details>
          </li>
        ))}
      </ul>
      {shown.length < sources.length && (
        <Button size="small" className="mt-3" onClick={() => setAll(true)}>
          Show all {count(sources.length)}
        </Button>
      )}
    </Card>
  );
}
