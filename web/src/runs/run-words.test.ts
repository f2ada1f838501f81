import { describe, expect, it } from "vitest";
import type { Meter, Run } from "./run-shapes";
import { cut, endingWords, metersOf, tookS } from "./run-words";

const ended = (ending: string | null): Pick<Run, "phase" | "ending" | "is_left_open"> => ({
  phase: "ENDED",
  ending,
  is_left_open: false,
});

describe("how a run ended, beside its badge", () => {
  it.each([
    ["completed", "By itself"],
    ["completed, with a warning: Completed on the last turn.", "Completed on the last turn."],
    ["forced to complete: Iteration limit reached (12/12).", "Iteration limit reached (12/12)."],
    ["stopped: Time limit reached (61 s/60 s).", "Time limit reached (61 s/60 s)."],
    ["abandoned: nothing was found: twice", "Nothing was found: twice"],
    ["cancelled by anna", "By anna"],
    ["failed (model_failed): the key is wrong", "The key is wrong"],
    ["something new", "Something new"],
    [null, "unknown"],
  ])("%s", (ending, words) => {
    expect(endingWords(ended(ending))).toBe(words);
  });

  it("says what one that has not ended waits for", () => {
    expect(endingWords({ phase: "RUNNING", ending: null, is_left_open: false })).toBe("");
    expect(endingWords({ phase: "RUNNING", ending: null, is_left_open: true })).toContain("can be resumed");
    expect(endingWords({ phase: "BUDGET_REVIEW", ending: null, is_left_open: false })).toContain("grant");
  });
});

describe("how long it took", () => {
  const times = { started_at: "2026-01-01T00:00:00Z", changed_at: "2026-01-01T00:00:30Z", ended_at: null };
  const now = Date.parse("2026-01-01T00:02:00Z");

  it("runs on while it runs, and no longer", () => {
    expect(tookS({ ...times, phase: "RUNNING", is_left_open: false }, now)).toBe(120);
    expect(tookS({ ...times, phase: "RUNNING", is_left_open: true }, now)).toBe(30);
    expect(
      tookS({ ...times, phase: "ENDED", is_left_open: false, ended_at: "2026-01-01T00:00:40Z" }, now),
    ).toBe(40);
  });

  it("is never less than nothing, whatever the clocks say", () => {
    expect(tookS({ ...times, phase: "RUNNING", is_left_open: false }, 0)).toBe(0);
  });
});

describe("meters", () => {
  const meter = (change: Partial<Meter>): Meter => ({
    used: 12,
    limit: 30,
    percent: 40,
    warn_percent: 70,
    reserve: null,
    ...change,
  });
  const used = { turns: 12, tokens: 4_911, cost_usd: "0.005", unknown_cost_calls: 0 };

  it("show what was used of what is allowed, with the reserve in percent", () => {
    const [turns] = metersOf({ ...used, meters: { turns: meter({ reserve: 3 }) } });
    expect(turns).toEqual({
      kind: "turns",
      label: "Turns",
      words: "12 of 30",
      percent: 40,
      warnPercent: 70,
      reservePercent: 10,
    });
  });

  it("say so when there is no limit, and have no percentage then", () => {
    const tokens = metersOf({ ...used, meters: {} }).find((one) => one.kind === "tokens");
    expect(tokens).toMatchObject({ words: "4,911, no limit", percent: null });
  });

  it("never show an unknown cost as a number that is known", () => {
    const without = metersOf({ ...used, cost_usd: null, unknown_cost_calls: 2, meters: {} });
    expect(without.find((one) => one.kind === "cost_usd")?.words).toBe("unknown, no limit");
    const cost = meter({ used: "0.10", limit: "0.42", percent: 23.8 });
    const within = metersOf({ ...used, cost_usd: null, unknown_cost_calls: 2, meters: { cost_usd: cost } });
    expect(within.find((one) => one.kind === "cost_usd")?.words).toBe("at least $0.10 of $0.42");
  });

  it("come in the order people ask for, and none is left out", () => {
    const meters = { model_calls: meter({}), seconds: meter({ used: 2.433, limit: 20 }), turns: meter({}) };
    const shown = metersOf({ ...used, meters });
    expect(shown.map((one) => one.label)).toEqual(["Turns", "Tokens", "Cost", "Time", "Model calls"]);
    expect(shown[3]?.words).toBe("2.4 s of 20 s");
  });
});

it("cuts by characters, not in the middle of one", () => {
  expect(cut("kurz", 10)).toBe("kurz");
  expect(cut("👩‍🚀👩‍🚀", 2)).not.toContain("\uFFFD");
  expect(cut("one two three", 8)).toBe("one two…");
});
