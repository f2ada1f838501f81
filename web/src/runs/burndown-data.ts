/** What the chart draws, worked out from what the server tells. Pure; drawing is elsewhere. */
import { thinned } from "./burndown-thinned";
import type { AllowedPoint, Burndown, Mark, UsedPoint } from "./run-shapes";

export const KINDS = ["turns", "tokens", "cost_usd", "seconds"] as const;
export type Kind = (typeof KINDS)[number];
/** All limits as percent of each, or one of them in its own unit. */
export type ChartView = "percent" | Kind;

export type Line = { kind: Kind; isLimit: boolean; values: (number | null)[] };
export type PlacedMark = Mark & { number: number; x: number };
export type ChartData = { xs: number[]; lines: Line[]; top: number; marks: PlacedMark[] };

const MOST_ROWS = 40;

/** The kinds that were limited at some time: the others have nothing to burn down. */
export function limitedKinds(burndown: Burndown): Kind[] {
  return KINDS.filter((kind) => burndown.limits.some((one) => one[kind] !== null));
}

export function chartOf(burndown: Burndown, view: ChartView): ChartData {
  const onClock = clockOf(burndown.marks);
  const xs = burndown.points.map((point) => onClock(point.at_s));
  const lines =
    view === "percent"
      ? limitedKinds(burndown).map((kind) =>
          line(
            kind,
            burndown.points.map((point) => percentAt(burndown, point, kind)),
          ),
        )
      : [
          line(
            view,
            burndown.points.map((point) => numberOf(point[view])),
          ),
          line(
            view,
            burndown.points.map((point) => limitAt(burndown, view, point.at_s)),
            true,
          ),
        ];
  const highest = Math.max(0, ...lines.flatMap((one) => one.values.map((value) => value ?? 0)));
  const top = (view === "percent" ? Math.max(100, highest) : highest || 1) * 1.06;
  const marks = burndown.marks.map((mark, index) => ({ ...mark, number: index + 1, x: onClock(mark.at_s) }));
  return { xs, lines, top, marks };
}

function line(kind: Kind, values: (number | null)[], isLimit = false): Line {
  return { kind, isLimit, values };
}

/** Seconds that count: the time in which it waited for a person is taken out, or it would be all one sees. */
export function clockOf(marks: readonly Mark[]): (atS: number) => number {
  const waits: { fromS: number; untilS: number }[] = [];
  for (const mark of marks) {
    const last = waits.at(-1);
    const isWaiting = last?.untilS === Number.POSITIVE_INFINITY;
    if (mark.kind === "paused" && !isWaiting)
      waits.push({ fromS: mark.at_s, untilS: Number.POSITIVE_INFINITY });
    if (mark.kind === "resumed" && last !== undefined && isWaiting) last.untilS = mark.at_s;
  }
  return (atS) =>
    atS - waits.reduce((sum, wait) => sum + Math.max(0, Math.min(atS, wait.untilS) - wait.fromS), 0);
}

/** What was allowed then; null if that was not limited. */
export function limitAt(burndown: Burndown, kind: Kind, atS: number): number | null {
  let allowed: AllowedPoint | undefined = burndown.limits[0];
  for (const one of burndown.limits) if (one.at_s <= atS) allowed = one;
  return numberOf(allowed?.[kind] ?? null);
}

export function percentAt(burndown: Burndown, point: UsedPoint, kind: Kind): number | null {
  const used = numberOf(point[kind]);
  const limit = limitAt(burndown, kind, point.at_s);
  return used === null || limit === null || limit === 0 ? null : (used / limit) * 100;
}

/** What was used by the time of a mark. */
export function pointAt(burndown: Burndown, mark: Mark): UsedPoint | null {
  return burndown.points.findLast((point) => point.seq <= mark.seq) ?? burndown.points[0] ?? null;
}

/** The chart as rows, for those who cannot see it: one for each turn, evenly thinned when there are many. */
export function rowsOf(burndown: Burndown): (UsedPoint & { x: number })[] {
  const onClock = clockOf(burndown.marks);
  const { points } = burndown;
  const telling = points.filter((point, at) => {
    const before = points[at - 1];
    return before === undefined || at === points.length - 1 || point.turns !== before.turns;
  });
  return thinned(telling, MOST_ROWS).map((point) => ({ ...point, x: onClock(point.at_s) }));
}

export function numberOf(value: number | string | null): number | null {
  if (value === null) return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}
