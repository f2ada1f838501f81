/** A run in words, where a list or a meter has room for few. Pure. */
import { capital, count, duration, money, UNKNOWN } from "@/words/format";
import type { Meter, Run, RunDetail } from "./run-shapes";

/** How it ended, without the word that its badge says already. */
export function endingWords(run: Pick<Run, "phase" | "ending" | "is_left_open">): string {
  if (run.phase === "RUNNING") return run.is_left_open ? "Its process is gone; it can be resumed" : "";
  if (run.phase === "BUDGET_REVIEW") return "Somebody may grant it more";
  if (run.phase === "AWAIT_USER") return "Its agent asked something";
  const ending = run.ending ?? "";
  if (ending === "" || ending === "completed") return ending === "" ? UNKNOWN : "By itself";
  return capital(
    ending
      .replace(/^(completed, with a warning|forced to complete|stopped|abandoned|failed \([^)]*\)): /, "")
      .replace(/^cancelled (?=by )/, ""),
  );
}

/** It runs, and somebody works on it. */
export function isGoing(run: Pick<Run, "phase" | "is_left_open">): boolean {
  return run.phase === "RUNNING" && !run.is_left_open;
}

/** From its start to its end, or until now; how long it waited for people is in it. */
export function tookS(
  run: Pick<Run, "phase" | "is_left_open" | "started_at" | "changed_at" | "ended_at">,
  now: number,
): number {
  const until = isGoing(run) ? now : Date.parse(run.ended_at ?? run.changed_at);
  return Math.max(0, until - Date.parse(run.started_at)) / 1_000;
}

export type MeterWords = {
  kind: string;
  label: string;
  words: string;
  percent: number | null;
  warnPercent: number | null;
  reservePercent: number | null;
};

const LABELS: Record<string, string> = {
  turns: "Turns",
  tokens: "Tokens",
  cost_usd: "Cost",
  seconds: "Time",
  model_calls: "Model calls",
};
const ORDER = ["turns", "tokens", "cost_usd", "seconds"];

export function meterLabel(kind: string): string {
  return LABELS[kind] ?? capital(kind.replaceAll("_", " "));
}

/** An amount of a meter: 12, $0.42, 4.2 s. */
export function amount(kind: string, value: number | string | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  if (kind === "cost_usd") return money(value);
  return kind === "seconds" ? duration(Number(value)) : count(Number(value));
}

/** The meters of a run: the four that people ask for, limited or not, and whatever else is limited. */
export function metersOf(
  run: Pick<RunDetail, "meters" | "turns" | "tokens" | "cost_usd" | "unknown_cost_calls">,
): MeterWords[] {
  const others = Object.keys(run.meters).filter((kind) => !ORDER.includes(kind));
  return [...ORDER, ...others].flatMap((kind) => {
    const meter = run.meters[kind];
    if (meter !== undefined) return [limited(kind, meter, run.unknown_cost_calls)];
    // Time that is not limited is on nobody's meter: the sentence of the chart tells it.
    return kind === "seconds" ? [] : [unlimited(kind, run)];
  });
}

function limited(kind: string, meter: Meter, unknownCalls: number): MeterWords {
  const isAtLeast = kind === "cost_usd" && unknownCalls > 0;
  const used = isAtLeast ? `at least ${amount(kind, meter.used)}` : amount(kind, meter.used);
  const most = Number(meter.limit);
  return {
    kind,
    label: meterLabel(kind),
    words: `${used} of ${amount(kind, meter.limit)}`,
    percent: meter.percent,
    warnPercent: meter.warn_percent ?? null,
    reservePercent: meter.reserve && most > 0 ? Math.min(100, (Number(meter.reserve) / most) * 100) : null,
  };
}

function unlimited(kind: string, run: Pick<RunDetail, "turns" | "tokens" | "cost_usd">): MeterWords {
  const used = kind === "turns" ? run.turns : kind === "tokens" ? run.tokens : run.cost_usd;
  const words = `${amount(kind, used)}, no limit`;
  return { kind, label: meterLabel(kind), words, percent: null, warnPercent: null, reservePercent: null };
}

/** The first line of something long. */
export function cut(text: string, most: number): string {
  const points = Array.from(text);
  return points.length <= most
    ? text
    : `${points
        .slice(0, most - 1)
        .join("")
        .trimEnd()}…`;
}
