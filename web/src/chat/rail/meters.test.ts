import { describe, expect, it } from "vitest";
import { NOTHING_YET, type RunState } from "@/stream/run-state";
import { type Figures, type MeterView, metersOf } from "./meters";

const RUNNING: RunState = {
  ...NOTHING_YET,
  used: { turns: 3, tokens: 1_500, model_calls: 3, cost_usd: 0.05 },
  budget: {
    limits: { turns: 10, tokens: 20_000, cost_usd: "0.50", seconds: 100 },
    warn_percent: { turns: 70, tokens: 80 },
    reserve_percent: 5,
    model: "built-in",
    at: 1_000,
  },
  clock: { ranS: 0, sinceS: 1_000 },
};
const DETAIL: Figures = {
  phase: "ENDED",
  turns: 10,
  tokens: 4_000,
  cost_usd: "0.25",
  unknown_cost_calls: 0,
  changed_at: new Date(1_040_000).toISOString(),
  meters: {
    turns: { used: 10, limit: 10, warn_percent: 70, reserve: 1 },
    tokens: { used: 4_000, limit: 20_000, warn_percent: 80, reserve: 1_000 },
    cost_usd: { used: "0.25", limit: "0.50", warn_percent: null, reserve: "0.025" },
    seconds: { used: 12.5, limit: 100, warn_percent: null, reserve: null },
  },
};

function meter(key: MeterView["key"], ...given: Parameters<typeof metersOf>): MeterView {
  const found = metersOf(...given).find((one) => one.key === key);
  if (found === undefined) throw new Error(`no meter for ${key}`);
  return found;
}

describe("while it runs", () => {
  it("shows what the stream told, of what it was given", () => {
    expect(metersOf(RUNNING, undefined, 1_025).map((one) => one.words)).toEqual([
      "3 of 10",
      "1.5k of 20k",
      "$0.05 of $0.50",
      "25 s of 1 min 40 s",
    ]);
  });

  it("has the tick of the warning, and the last turn as the reserve of turns", () => {
    expect(meter("turns", RUNNING, undefined, 1_000)).toMatchObject({
      percent: 30,
      warnPercent: 70,
      reservePercent: 10,
    });
    expect(meter("tokens", RUNNING, undefined, 1_000).reservePercent).toBe(5);
  });

  it("does not count the time in which nobody worked on it, once the record tells", () => {
    // Begun at 1,000 by its stream; at 1,040 its own clock stood at 12.5 s.
    expect(meter("seconds", RUNNING, { ...DETAIL, phase: "RUNNING" }, 1_042.5).percent).toBe(15);
  });

  it("ticks with the clock, and stands still once it has paused", () => {
    expect(meter("seconds", RUNNING, undefined, 1_050).percent).toBe(50);
    const paused = { ...RUNNING, clock: { ranS: 30, sinceS: null } };
    expect(meter("seconds", paused, undefined, 9_999).percent).toBe(30);
  });

  it("says that a cost is unknown, and of how many calls", () => {
    const state = { ...RUNNING, unknownCostCalls: 2 };
    expect(meter("cost_usd", state, undefined, 1_000)).toMatchObject({
      words: "unknown (2 calls)",
      percent: null,
    });
  });

  it("says that there is no limit where there is none", () => {
    const { cost_usd: _, ...limits } = { turns: 10, tokens: 20_000, cost_usd: "1", seconds: 100 };
    const state = RUNNING.budget === null ? RUNNING : { ...RUNNING, budget: { ...RUNNING.budget, limits } };
    expect(meter("cost_usd", state, undefined, 1_000)).toMatchObject({
      words: "$0.05, no limit",
      percent: null,
    });
  });

  it("does not count up from zero while a reload replays it", () => {
    const replaying = { ...RUNNING, used: NOTHING_YET.used };
    expect(meter("turns", replaying, { ...DETAIL, phase: "RUNNING" }, 1_000).words).toBe("10 of 10");
  });

  it("knows the limits from the server until the stream has told them", () => {
    const words = meter("tokens", NOTHING_YET, { ...DETAIL, phase: "RUNNING" }, 0).words;
    expect(words).toBe("4k of 20k");
    expect(meter("tokens", NOTHING_YET, undefined, 0).words).toBe("0");
  });
});

describe("once it has stopped", () => {
  it("shows the server's truth and not its own count", () => {
    expect(metersOf(RUNNING, DETAIL, 9_999).map((one) => one.words)).toEqual([
      "10 of 10",
      "4k of 20k",
      "$0.25 of $0.50",
      "13 s of 1 min 40 s",
    ]);
  });

  it("has the reserve in percent of its limit", () => {
    expect(metersOf(RUNNING, DETAIL, 0).map((one) => one.reservePercent)).toEqual([10, 5, 5, null]);
  });

  it("shows what was used where nothing was limited", () => {
    const detail = { ...DETAIL, meters: {} };
    expect(
      metersOf({ ...RUNNING, clock: { ranS: 7, sinceS: null } }, detail, 0).map((one) => one.words),
    ).toEqual(["10, no limit", "4k, no limit", "$0.25, no limit", "7.0 s, no limit"]);
  });

  it("never shows an unknown cost as nothing", () => {
    const detail = { ...DETAIL, cost_usd: null, unknown_cost_calls: 1, meters: {} };
    expect(meter("cost_usd", RUNNING, detail, 0).words).toBe("unknown (1 call)");
  });

  it("is full at most, however much was used", () => {
    const detail = { ...DETAIL, meters: { tokens: { used: 30_000, limit: 20_000 } } };
    expect(meter("tokens", RUNNING, detail, 0).percent).toBe(100);
  });
});
