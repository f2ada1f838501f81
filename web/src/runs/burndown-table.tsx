import { useState } from "react";
import { Button } from "@/ui/button";
import { capital, count, duration, money } from "@/words/format";
import { type PlacedMark, rowsOf } from "./burndown-data";
import { MARK_COLOURS, MARK_WORDS } from "./burndown-looks";
import type { Burndown } from "./run-shapes";

const FEW = 8;

/** What the numbers above the chart stand for. */
export function ChartMarks({ marks }: { marks: readonly PlacedMark[] }) {
  const [isAll, setAll] = useState(false);
  const shown = isAll ? marks : marks.slice(0, FEW);
  if (marks.length === 0) return null;
  return (
    <>
      <ol aria-label="Marks of the chart" className="mt-2 space-y-1 text-sm">
        {shown.map((mark) => (
          <li key={mark.seq} className="flex items-start gap-2">
            <span
              aria-hidden
              className="mt-0.5 min-w-5 shrink-0 rounded-full px-1 text-center text-[0.6875rem] leading-4 font-semibold text-panel"
              style={{ background: `var(${MARK_COLOURS[mark.kind]})` }}
            >
              {mark.number}
            </span>
            <span className="min-w-0 break-words">
              <span className="font-medium">
                {MARK_WORDS[mark.kind]} at {duration(mark.x)}
              </span>{" "}
              <span className="line-clamp-3 text-ink-soft">{capital(mark.text)}</span>
            </span>
          </li>
        ))}
      </ol>
      {shown.length < marks.length && (
        <Button size="small" className="mt-2" onClick={() => setAll(true)}>
          Show all {count(marks.length)} marks
        </Button>
      )}
    </>
  );
}

/** The chart in figures. */
export function ChartTable({ burndown }: { burndown: Burndown }) {
  return (
    <details className="mt-3 text-sm">
      <summary className="cursor-pointer text-ink-soft">The chart as a table</summary>
      <table className="mt-2 w-full text-right text-xs tabular-nums">
        <caption className="sr-only">What was used by when</caption>
        <thead className="text-ink-soft">
          <tr>
            {["Time", "Turns", "Tokens", "Cost"].map((name) => (
              <th key={name} scope="col" className="py-1 pl-2 font-medium">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {rowsOf(burndown).map((row) => (
            <tr key={row.seq}>
              <td className="py-1 pl-2">{duration(row.x)}</td>
              <td className="py-1 pl-2">{count(row.turns)}</td>
              <td className="py-1 pl-2">{count(row.tokens)}</td>
              <td className="py-1 pl-2">{money(row.cost_usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
