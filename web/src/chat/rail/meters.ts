/** What the budget rail shows of a run: one meter each for turns, tokens, cost and time. Pure. */
import type { Schemas } from "@/api/client";
import type { RunState } from "@/stream/run-state";
import { elapsedS } from "@/stream/run-state";
import { count, duration, money, plural, shortCount, UNKNOWN } from "@/words/format";

const SHOWN = ["turns", "tokens", "cost_usd", "seconds"] as const;
type Shown = (typeof SHOWN)[number];

const LABELS: Record<Shown, string> = { turns: "Turns", tokens: "Tokens", cost_usd: "Cost", seconds: "Time" };
const WRITTEN: Record<Shown, (value: number) => string> = {
  turns: count,
  tokens: shortCount,
  cost_usd: money,
  seconds: duration,
};

export type MeterView = {
  key: Shown;
  label: string;
  /** "3 of 12". */
  words: string;
  /** What was used, as short as can be: "3", "<1¢". */
  used: string;
  /** Null if it is unknown, or there is no limit. */
  percent: number | null;
  warnPercent: number | null;
  reservePercent: number | null;
};

/** The part of a run's detail that meters are made of. */
export type Figures = Pick<
  Schemas["RunDetail"],
  "phase" | "turns" | "tokens" | "cost_usd" | "unknown_cost_calls" | "changed_at"
> & {
  meters: Readonly<Record<string, Figure>>;
};
type Figure = {
  used: number | string;
  limit: number | string;
  warn_percent?: number | null;
  reserve?: number | string | null;
};

type Measured = {
  used: number;
  /** Null where there is none; undefined while nobody has told yet. */
  limit: number | null | undefined;
  warnPercent: number | null;
  reservePercent: number | null;
};

/**
 * While it runs, as its stream tells it; once it has stopped, as the server counted. Counters only grow, so of
 * two answers about a run under way the greater is the newer: a reload does not count up from zero again.
 */
export function metersOf(
  state: RunState,
  detail: Figures | undefined,
  nowS: number,
  atLeastS = 0,
): MeterView[] {
  const isSettled = detail !== undefined && detail.phase !== "RUNNING";
  const unknownCalls = isSettled
    ? detail.unknown_cost_calls
    : Math.max(state.unknownCostCalls, detail?.unknown_cost_calls ?? 0);
  return SHOWN.map((key) => {
    const measured = isSettled
      ? settled(key, detail, elapsedS(state, nowS))
      : live(key, state, detail, ranAtMostS(detail, nowS, Math.max(elapsedS(state, nowS), atLeastS)));
    return viewOf(key, measured, unknownCalls);
  });
}

/** The stream does not tell for how long nobody worked on a run; its record does, up to its last fact. */
function ranAtMostS(detail: Figures | undefined, nowS: number, elapsed: number): number {
  const counted = detail?.meters.seconds;
  if (detail === undefined || counted === undefined) return elapsed;
  return Math.min(elapsed, Number(counted.used) + Math.max(0, nowS - Date.parse(detail.changed_at) / 1_000));
}

function settled(key: Shown, detail: Figures, elapsed: number): Measured {
  const figure = detail.meters[key];
  if (figure !== undefined) return measuredOf(figure);
  const used = {
    turns: detail.turns,
    tokens: detail.tokens,
    cost_usd: Number(detail.cost_usd),
    seconds: elapsed,
  };
  return { used: used[key], limit: null, warnPercent: null, reservePercent: null };
}

function live(key: Shown, state: RunState, detail: Figures | undefined, elapsed: number): Measured {
  const figure = detail?.meters[key];
  const told = figure === undefined ? null : measuredOf(figure);
  const used = Math.max(key === "seconds" ? elapsed : state.used[key], told?.used ?? 0);
  if (state.budget === null) {
    return told === null
      ? { used, limit: detail === undefined ? undefined : null, warnPercent: null, reservePercent: null }
      : { ...told, used };
  }
  const given = state.budget.limits[key];
  if (given === undefined) return { used, limit: null, warnPercent: null, reservePercent: null };
  const limit = Math.max(Number(given), told?.limit ?? 0);
  return {
    used,
    limit,
    warnPercent: state.budget.warn_percent[key] ?? null,
    // The last turn is the one that is kept for finishing; of the others it is a share.
    reservePercent: key === "turns" ? percentOf(1, limit) : state.budget.reserve_percent,
  };
}

function measuredOf(figure: Figure): Measured {
  const limit = Number(figure.limit);
  const reserve = figure.reserve ?? null;
  return {
    used: Number(figure.used),
    limit,
    warnPercent: figure.warn_percent ?? null,
    reservePercent: reserve === null ? null : percentOf(Number(reserve), limit),
  };
}

function viewOf(key: Shown, measured: Measured, unknownCalls: number): MeterView {
  const { limit, warnPercent, reservePercent } = measured;
  const isUnknown = (key === "cost_usd" && unknownCalls > 0) || !Number.isFinite(measured.used);
  const used = isUnknown ? UNKNOWN : WRITTEN[key](measured.used);
  return {
    key,
    label: LABELS[key],
    used: !isUnknown && key === "cost_usd" && measured.used > 0 && measured.used < 0.01 ? "<1¢" : used,
    words: isUnknown ? `${UNKNOWN} (${plural(unknownCalls, "call")})` : `${used}${ofLimit(key, limit)}`,
    percent: isUnknown || typeof limit !== "number" ? null : percentOf(measured.used, limit),
    warnPercent,
    reservePercent,
  };
}

function ofLimit(key: Shown, limit: Measured["limit"]): string {
  if (limit === undefined) return "";
  return limit === null ? ", no limit" : ` of ${WRITTEN[key](limit)}`;
}

function percentOf(part: number, whole: number): number {
  return whole > 0 ? Math.min(100, (part / whole) * 100) : 100;
}
