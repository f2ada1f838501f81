/** What the chart shows, said in a sentence. Pure: made from the same data. */
import { count, duration, money, plural } from "@/words/format";
import { clockOf, type Kind, limitAt, limitedKinds, percentAt, pointAt } from "./burndown-data";
import type { Burndown, Mark, UsedPoint } from "./run-shapes";

/** "It used 12 of 12 turns in 4.2 s; the warning came at turn 9; it was stopped at the turn limit." */
export function sentenceOf(burndown: Burndown): string {
  const last = burndown.points.at(-1);
  if (last === undefined) return "Nothing was used yet.";
  const parts = [
    usedWords(burndown, last),
    came(burndown, "warning", "the warning", "warnings"),
    came(burndown, "finding", "a finding", "findings"),
    came(burndown, "grant", "more budget", "grants"),
    waitedWords(burndown, last),
    endWords(burndown),
  ];
  return `${parts.filter((part) => part !== "").join("; ")}.`;
}

function usedWords(burndown: Burndown, last: UsedPoint): string {
  const turns = withLimit(burndown, last, "turns");
  const fuller = fullerThanTurns(burndown, last);
  const used = fuller === null ? turns : `${turns} and ${withLimit(burndown, last, fuller)}`;
  const limitS = limitAt(burndown, "seconds", last.at_s);
  const isTimeUp = limitS !== null && last.seconds >= limitS;
  return `It used ${used} in ${duration(last.seconds)}${isTimeUp ? `, all the time it had` : ""}`;
}

/** Besides turns, the limit that was nearest: only worth a word if it was nearer than that of turns. */
function fullerThanTurns(burndown: Burndown, last: UsedPoint): "tokens" | "cost_usd" | null {
  const percent = (kind: Kind) => percentAt(burndown, last, kind) ?? 0;
  const others = (["tokens", "cost_usd"] as const).filter((kind) => percent(kind) > percent("turns"));
  return others.sort((one, other) => percent(other) - percent(one))[0] ?? null;
}

function withLimit(burndown: Burndown, last: UsedPoint, kind: "turns" | "tokens" | "cost_usd"): string {
  const limit = limitedKinds(burndown).includes(kind) ? limitAt(burndown, kind, last.at_s) : null;
  if (kind === "cost_usd")
    return limit === null ? money(last.cost_usd) : `${money(last.cost_usd)} of ${money(limit)}`;
  const word = kind.slice(0, -1);
  return limit === null ? plural(last[kind], word) : `${count(last[kind])} of ${plural(limit, word)}`;
}

/** "the warning came at turn 9", "3 warnings came, the first at turn 9". */
function came(burndown: Burndown, kind: Mark["kind"], one: string, many: string): string {
  const marks = burndown.marks.filter((mark) => mark.kind === kind);
  const [first] = marks;
  if (first === undefined) return "";
  const before = pointAt(burndown, first)?.turns ?? 0;
  const when =
    kind === "grant" ? `after ${plural(before, "turn")}` : `at turn ${count(turnUnderWay(burndown, before))}`;
  return marks.length === 1
    ? `${one} came ${when}`
    : `${count(marks.length)} ${many} came, the first ${when}`;
}

/** The turn in which something came that so many whole turns came before; there is none after the last one. */
function turnUnderWay(burndown: Burndown, before: number): number {
  const hasEnded = burndown.marks.some((mark) => mark.kind === "ended");
  const last = burndown.points.at(-1)?.turns ?? before;
  return Math.max(1, hasEnded ? Math.min(before + 1, last) : before + 1);
}

function waitedWords(burndown: Burndown, last: UsedPoint): string {
  const waitedS = last.at_s - clockOf(burndown.marks)(last.at_s);
  return waitedS >= 1 ? `it waited ${duration(waitedS)} for a person, which is not counted` : "";
}

const LIMIT_WORDS: Record<string, string> = {
  iteration: "turn",
  token: "token",
  cost: "cost",
  time: "time",
  "model call": "model call",
  context: "context",
};

function endWords(burndown: Burndown): string {
  const ended = burndown.marks.findLast((mark) => mark.kind === "ended");
  if (ended !== undefined) return howItEnded(ended.text, burndown.marks);
  const pause = burndown.marks.findLast((mark) => mark.kind === "paused" || mark.kind === "resumed");
  return pause?.kind === "paused" ? "it waits for a person" : "it has not ended yet";
}

function howItEnded(text: string, marks: readonly Mark[]): string {
  const limit = /^[^:]*: (iteration|token|cost|time|model call|context) limit reached/i.exec(text)?.[1];
  if (/^completed, with a warning/.test(text)) return "it finished by itself, with a warning";
  if (/^completed/.test(text)) return "it finished by itself";
  if (/^cancelled/.test(text)) return `it was ${text}`;
  if (/^failed/.test(text)) return "it failed";
  if (/^abandoned/.test(text)) return "it gave up";
  if (limit !== undefined) return `it was stopped at the ${LIMIT_WORDS[limit.toLowerCase()] ?? limit} limit`;
  const isFound = marks.some((mark) => mark.kind === "finding");
  return isFound ? "it was stopped because of what was found" : "it was stopped";
}
