import { expect, it } from "vitest";
import { sessionMeters } from "./meters";

const meter = (used: number | string, limit: number | string) => ({
  used,
  limit,
  left: 0,
  percent: 24,
  warn_percent: 70,
  reserve: null,
});

it("shows what a session's budget limits, in its order, and nothing else", () => {
  const meters = sessionMeters({
    meters: { seconds: meter(75, 1800), turns: meter(3, 9), model_calls: meter(12, 50) },
    unknown_cost_calls: 0,
  });
  expect(meters.map(({ label, words }) => `${label}: ${words}`)).toEqual([
    "Model calls: 12 of 50",
    "Time: 1 min 15 s of 30 min",
  ]);
});

it("says that a cost is at least so much when the price of some call is unknown", () => {
  const [cost] = sessionMeters({ meters: { cost_usd: meter("0.5", "10") }, unknown_cost_calls: 1 });
  expect(cost?.words).toBe("at least $0.50 of $10.00");
});

it("shows what is kept for finishing as a share of the limit", () => {
  const kept = { ...meter(100, 1000), reserve: 50 };
  expect(sessionMeters({ meters: { tokens: kept }, unknown_cost_calls: 0 })[0]?.reservePercent).toBe(5);
});
