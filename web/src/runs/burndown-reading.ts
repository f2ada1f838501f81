/** What the chart shows where somebody points at it. Pure. */
import { duration } from "@/words/format";
import { clockOf, KINDS, percentAt } from "./burndown-data";
import type { Burndown } from "./run-shapes";
import { amount, meterLabel } from "./run-words";

/** "At 1.6 s: turns 8 (67 %), tokens 2,246 (1 %)". */
export function readingAt(burndown: Burndown, index: number | null): string | null {
  const point = index === null ? undefined : burndown.points[index];
  if (point === undefined) return null;
  const read = KINDS.filter((kind) => kind !== "seconds").map((kind) => {
    const percent = percentAt(burndown, point, kind);
    const share = percent === null ? "" : ` (${Math.round(percent)} %)`;
    return `${meterLabel(kind).toLowerCase()} ${amount(kind, point[kind])}${share}`;
  });
  return `At ${duration(clockOf(burndown.marks)(point.at_s))}: ${read.join(", ")}`;
}
