/** Which facts the timeline shows. Pure. */
import type { Moment } from "./run-shapes";

export const LEVELS = ["debug", "info", "warning", "error"] as const;
export type Level = (typeof LEVELS)[number];
/** So many are drawn at once: a run may have ten thousand. */
export const LINES = 200;

const RANKS: Record<string, number> = { debug: 0, info: 1, warning: 2, error: 3, critical: 4 };

/** Those that matter at least so much. A severity that is not known here is shown rather than hidden. */
export function atLeast(moments: readonly Moment[], level: Level): Moment[] {
  const least = RANKS[level] ?? 0;
  return moments.filter((moment) => (RANKS[moment.severity] ?? Number.POSITIVE_INFINITY) >= least);
}

export function isGrave(severity: string): boolean {
  return (RANKS[severity] ?? 0) >= 3;
}
