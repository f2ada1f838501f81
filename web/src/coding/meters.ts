/** What a session has used of what it may: model calls, tokens, cost and time. Pure. */
import type { Schemas } from "@/api/client";
import { count, duration, money, shortCount } from "@/words/format";

const SHOWN = ["model_calls", "tokens", "cost_usd", "seconds"] as const;
type Shown = (typeof SHOWN)[number];

const LABELS: Record<Shown, string> = {
  model_calls: "Model calls",
  tokens: "Tokens",
  cost_usd: "Cost",
  seconds: "Time",
};
const WRITTEN: Record<Shown, (value: number) => string> = {
  model_calls: count,
  tokens: shortCount,
  cost_usd: money,
  seconds: duration,
};

export type SessionMeter = {
  key: Shown;
  label: string;
  words: string;
  percent: number | null;
  warnPercent: number | null;
  reservePercent: number | null;
};

/** As many as there will be, so that nothing jumps when they are there. */
export const METERS_TO_COME: readonly SessionMeter[] = SHOWN.map((key) => ({
  key,
  label: LABELS[key],
  words: "…",
  percent: null,
  warnPercent: null,
  reservePercent: null,
}));

type Figures = Pick<Schemas["RunDetail"], "meters" | "unknown_cost_calls">;

/** Those that the session's budget limits, as the server has counted. */
export function sessionMeters({ meters, unknown_cost_calls }: Figures): SessionMeter[] {
  return SHOWN.flatMap((key) => {
    const meter = meters[key];
    if (meter === undefined) return [];
    const limit = Number(meter.limit);
    const isAtLeast = key === "cost_usd" && unknown_cost_calls > 0;
    const used = `${isAtLeast ? "at least " : ""}${WRITTEN[key](Number(meter.used))}`;
    return [
      {
        key,
        label: LABELS[key],
        words: `${used} of ${WRITTEN[key](limit)}`,
        percent: meter.percent,
        warnPercent: meter.warn_percent ?? null,
        reservePercent: meter.reserve && limit > 0 ? (Number(meter.reserve) / limit) * 100 : null,
      },
    ];
  });
}
