/** The passage of a source, line by line. Pure. */
import type { Source } from "@/stream/run-state";

export type Line = { number: number | null; text: string };

const FIRST_LINE = /(?::|#L)(\d{1,9})(?:-L?\d{1,9})?$/;

/** With numbers, if the location says at which line it begins: "a.py:12", "a.py:12-20", "a.py#L12". */
export function linesOf({ location, passage }: Pick<Source, "location" | "passage">): Line[] {
  const isAddress = /^https?:/i.test(location);
  const found = isAddress ? null : FIRST_LINE.exec(location);
  const first = found?.[1] === undefined ? null : Number(found[1]);
  return passage
    .replace(/\n$/, "")
    .split("\n")
    .map((text, at) => ({ number: first === null ? null : first + at, text }));
}

/** Where a chip leads, short: the last two steps of a path, and the line if there is one. */
export function chipWords({ title, location }: Pick<Source, "title" | "location">): string {
  const name = location.startsWith(`${title}:`) ? location : title.trim() || location;
  const steps = name.split("/");
  return steps.length > 2 && !/^https?:/i.test(name) ? `…/${steps.slice(-2).join("/")}` : name;
}
