/** Marks that would stand on top of each other share one place. Pure. */
import type { PlacedMark } from "./burndown-data";
import type { MarkKind } from "./run-shapes";

export type MarkGroup = { left: number; label: string; marks: PlacedMark[] };

const BY_WEIGHT: readonly MarkKind[] = ["limit", "finding", "grant", "warning", "ended", "paused", "resumed"];

/** The kind that a group is shown as: the one that tells most. */
export function weightiest(marks: readonly PlacedMark[]): MarkKind {
  return BY_WEIGHT.find((kind) => marks.some((mark) => mark.kind === kind)) ?? "ended";
}

/** `toLeft` gives the place of a second on the screen; what is nearer than `nearest` goes together. */
export function groupsOf(
  marks: readonly PlacedMark[],
  toLeft: (x: number) => number,
  nearest: number,
): MarkGroup[] {
  const groups: MarkGroup[] = [];
  for (const mark of [...marks].sort((one, other) => one.x - other.x || one.number - other.number)) {
    const left = toLeft(mark.x);
    const last = groups.at(-1);
    if (last !== undefined && left - last.left < nearest) last.marks.push(mark);
    else groups.push({ left, label: "", marks: [mark] });
  }
  return groups.map((group) => ({ ...group, label: labelOf(group.marks.map((mark) => mark.number)) }));
}

function labelOf(numbers: readonly number[]): string {
  const least = Math.min(...numbers);
  const most = Math.max(...numbers);
  return least === most ? `${least}` : `${least}–${most}`;
}
