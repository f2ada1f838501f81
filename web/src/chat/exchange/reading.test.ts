import { expect, it } from "vitest";
import { addedWords, readingOf } from "./reading";

it.each([
  ["turns", 21, 30, "21 of 30 turns"],
  ["tokens", 1234, 200000, "1,234 of 200,000 tokens"],
  ["cost_usd", "0.3", "0.42", "$0.30 of $0.42"],
  ["seconds", 12.5, 300, "13 s of 5 min"],
  ["exact_repeat", 3, 3, "3 times"],
])("%s", (limit_type, current_value, limit_value, words) => {
  expect(readingOf({ limit_type, current_value, limit_value, percent: 1 })).toBe(words);
});

it("says what was added, and nothing else", () => {
  expect(addedWords({ turns: 10, tokens: 0, cost_usd: "0.5" })).toBe("10 turns and $0.50");
  expect(addedWords({})).toBe("nothing");
});
