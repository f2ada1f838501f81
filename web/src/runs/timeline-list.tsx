import { useState } from "react";
import { Badge, type Tone } from "@/ui/badge";
import { Button } from "@/ui/button";
import { count, duration, moment as exactly } from "@/words/format";
import type { Moment } from "./run-shapes";
import { atLeast, isGrave, type Level, LINES } from "./timeline-lines";

/** Facts as lines, a page of them at a time. */
export function TimelineList({ moments, level }: { moments: readonly Moment[]; level: Level }) {
  const [most, setMost] = useState(LINES);
  const matching = atLeast(moments, level);
  const shown = matching.slice(0, most);
  const left = matching.length - shown.length;
  if (matching.length === 0)
    return <p className="text-sm text-ink-soft">None among {count(moments.length)} facts.</p>;
  return (
    <>
      <ol className="divide-y divide-line">
        {shown.map((moment) => (
          <Line key={moment.seq} moment={moment} />
        ))}
      </ol>
      <div className="mt-3 flex flex-wrap items-center gap-3">
        {left > 0 && (
          <Button onClick={() => setMost(most + LINES)}>Show {count(Math.min(left, LINES))} more</Button>
        )}
        <p role="status" className="text-xs text-ink-soft">
          {count(shown.length)} of {count(matching.length)} shown; the record has {count(moments.length)}{" "}
          facts.
        </p>
      </div>
    </>
  );
}

function Line({ moment }: { moment: Moment }) {
  return (
    <li className="grid grid-cols-[4.5rem_minmax(0,1fr)] gap-x-3 py-1.5 text-sm">
      <time
        dateTime={moment.time}
        title={exactly(moment.time)}
        className="text-xs leading-5 text-ink-soft tabular-nums"
      >
        {duration(moment.at_s)}
      </time>
      <div className="min-w-0">
        <span className="flex flex-wrap items-center gap-x-2 font-medium break-words">
          {moment.title}
          <SeverityBadge severity={moment.severity} />
          {moment.scope !== "run" && (
            <span className="text-xs font-normal text-ink-soft">in {moment.scope}</span>
          )}
        </span>
        {moment.detail !== "" && <p className="text-xs break-words text-ink-soft">{moment.detail}</p>}
      </div>
    </li>
  );
}

function SeverityBadge({ severity }: { severity: string }) {
  if (severity === "debug" || severity === "info") return null;
  const tone: Tone = isGrave(severity) ? "stop" : "notice";
  return <Badge tone={tone}>{severity}</Badge>;
}
