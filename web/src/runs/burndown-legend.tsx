import type { Line } from "./burndown-data";
import { LIMIT_LOOK, LINE_LOOKS, type Look } from "./burndown-looks";
import { meterLabel } from "./run-words";

/** Which line is which, in words. */
export function ChartLegend({ lines, isPercent }: { lines: readonly Line[]; isPercent: boolean }) {
  return (
    <ul aria-label="Lines of the chart" className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-ink-soft">
      {lines
        .filter((line) => !line.isLimit)
        .map((line) => (
          <Entry key={line.kind} look={LINE_LOOKS[line.kind]} words={`${meterLabel(line.kind)} used`} />
        ))}
      <Entry look={LIMIT_LOOK} words={isPercent ? "The limit of each (100 %)" : "What was allowed"} />
    </ul>
  );
}

function Entry({ look, words }: { look: Look; words: string }) {
  return (
    <li className="flex items-center gap-1.5">
      <svg aria-hidden="true" width="24" height="6" className="shrink-0">
        <line
          x1="0"
          x2="24"
          y1="3"
          y2="3"
          strokeWidth="2"
          strokeDasharray={look.dash.join(" ")}
          style={{ stroke: `var(${look.colour})` }}
        />
      </svg>
      {words}
    </li>
  );
}
