import { describe, expect, it } from "vitest";
import { grantable, grantOf, type Meters, suggested } from "./amounts";

function meter(used: number | string, limit: number | string, reserve: number | null = null): Meters[string] {
  return { used, limit, percent: (Number(used) / Number(limit)) * 100, warn_percent: null, reserve };
}

describe("what can be given", () => {
  it("is what the run has limits on", () => {
    const names = grantable({ turns: meter(4, 4), seconds: meter(3, 300) }).map((one) => one.name);
    expect(names).toEqual(["turns", "minutes"]);
  });

  it("is everything people know while the run's limits are not known", () => {
    expect(grantable(undefined).map((one) => one.name)).toEqual(["turns", "tokens", "cost_usd", "minutes"]);
  });
});

describe("what is suggested", () => {
  it("is ten turns for a run that ran out of turns", () => {
    const meters = { turns: meter(30, 30), tokens: meter(3_000, 200_000), seconds: meter(12, 300) };
    expect(suggested(meters, 30)).toEqual({ turns: "10" });
  });

  it("is no more turns than it had", () => {
    expect(suggested({ turns: meter(4, 4) }, 4)).toEqual({ turns: "4" });
  });

  it("is tokens, and not turns, for a run that ran out of tokens", () => {
    const meters = { turns: meter(5, 30), tokens: meter(20_000, 20_000) };
    expect(suggested(meters, 5)).toEqual({ tokens: "20000" });
  });

  it("is enough of each for the same turns, rounded up, with the reserve left alone", () => {
    const meters = {
      turns: meter(20, 20),
      tokens: meter(82_000, 100_000, 5_000),
      cost_usd: meter("0.40", "0.42"),
      seconds: meter(290, 300),
    };
    expect(suggested(meters, 20)).toEqual({
      turns: "10",
      tokens: "28000",
      cost_usd: "0.18",
      minutes: "3",
    });
  });

  it("is something even for a run that lacks nothing", () => {
    expect(suggested({ turns: meter(1, 30) }, 1)).toEqual({ turns: "10" });
    expect(suggested({ seconds: meter(0, 30) }, 0)).toEqual({});
  });
});

describe("what is sent", () => {
  it("is what was typed, money as text and minutes as seconds", () => {
    const read = grantOf({ turns: "10", tokens: "50,000", cost_usd: "0.10", minutes: "1.5" });
    expect(read).toEqual({
      grant: {
        turns: 10,
        model_calls: 0,
        tokens: 50_000,
        cost_usd: "0.10",
        seconds: 90,
        why: "granted on the page",
      },
    });
  });

  it("understands thousands, for money too", () => {
    expect(grantOf({ cost_usd: "1,000", tokens: "2 000 000" })).toMatchObject({
      grant: { cost_usd: "1000", tokens: 2_000_000 },
    });
  });

  it("is nothing while nothing is given", () => {
    expect(grantOf({})).toEqual({ missing: true });
    expect(grantOf({ turns: "0", cost_usd: " " })).toEqual({ missing: true });
  });

  it.each([
    ["turns", "1.5"],
    ["turns", "-3"],
    ["tokens", "1,5"],
    ["cost_usd", "0,50"],
    ["minutes", "an hour"],
  ])("is refused beside its field: %s of %j", (name, text) => {
    const read = grantOf({ turns: "1", [name]: text });
    expect(read).toHaveProperty(["wrong", name]);
  });
});
