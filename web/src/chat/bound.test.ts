import { expect, it } from "vitest";
import { boundWords, tokensAtMost } from "./bound";

const MOST = { turns: 30, tokens: 200_000, cost_usd: "0.42", seconds: 300 };

it("says what a question can use at most", () => {
  const words = boundWords({ is_price_known: true, without_grants: MOST });
  expect(words).toBe("at most 30 turns · 200k tokens · $0.42 · 5 min");
});

it("says that a cost is unknown, and never that it is nothing", () => {
  const words = boundWords({ is_price_known: false, without_grants: { ...MOST, cost_usd: null } });
  expect(words).toBe("at most 30 turns · 200k tokens · cost unknown · 5 min");
});

it("leaves out what nothing bounds", () => {
  const words = boundWords({
    is_price_known: true,
    without_grants: { ...MOST, turns: 1, tokens: null, seconds: null },
  });
  expect(words).toBe("at most 1 turn · $0.42");
});

it.each([
  [9_999, "9,999"],
  [200_000, "200k"],
  [200_001, "201k"],
  [1_234_567, "1.24M"],
])("rounds %d tokens up to %s", (tokens, words) => {
  expect(tokensAtMost(tokens)).toBe(words);
});
