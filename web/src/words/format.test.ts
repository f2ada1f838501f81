import { expect, it } from "vitest";
import {
  ago,
  capital,
  closed,
  duration,
  money,
  moneyAtMost,
  plural,
  shortCount,
  withoutMarks,
} from "./format";

it.each([
  [null, "unknown"],
  ["not money", "unknown"],
  ["0", "$0.00"],
  ["0.0037", "$0.0037"],
  ["12.5", "$12.50"],
])("shows %s dollars as %s", (given, words) => {
  expect(money(given)).toBe(words);
});

it.each([
  ["0", "$0.00"],
  ["0.42", "$0.42"],
  ["0.4201", "$0.43"],
  ["0.001", "$0.01"],
  ["12", "$12.00"],
])("rounds %s dollars up to %s", (dollars, words) => {
  expect(moneyAtMost(dollars)).toBe(words);
});

it.each([
  [null, "unknown"],
  [0.04, "0.0 s"],
  [9.96, "10 s"],
  [59.6, "1 min"],
  [200, "3 min 20 s"],
  [3_599.7, "1 h"],
  [7_500, "2 h 5 min"],
])("shows %s seconds as %s", (seconds, words) => {
  expect(duration(seconds)).toBe(words);
});

it("counts in words, and shortly", () => {
  expect([plural(1, "turn"), plural(2_000, "turn")]).toEqual(["1 turn", "2,000 turns"]);
  expect([shortCount(200_000), shortCount(null)]).toEqual(["200k", "unknown"]);
});

it("says how long ago something was, and when, if that is long", () => {
  const now = Date.parse("2026-03-10T12:00:00Z");
  expect(ago("2026-03-10T11:59:50Z", now)).toBe("just now");
  expect(ago("2026-03-10T11:55:00Z", now)).toBe("5 minutes ago");
  expect(ago("2026-03-09T11:00:00Z", now)).toBe("yesterday");
  expect(ago("2026-01-09T12:00:00Z", now)).toBe("Jan 9, 2026");
});

it.each([
  ["It has ended", "It has ended."],
  ["Is it running?", "Is it running?"],
  ["Wait …", "Wait …"],
])("closes %j as %j", (text, words) => {
  expect(closed(text)).toBe(words);
});

it("begins with a capital, if there is anything to begin", () => {
  expect([capital("no progress"), capital("")]).toEqual(["No progress", ""]);
});

it.each([
  ["50,000", "50000"],
  ["2 000 000", "2000000"],
  ["1,5", "1,5"],
  ["0.50", "0.50"],
])("reads the number typed as %j as %j", (typed, plain) => {
  expect(withoutMarks(typed)).toBe(plain);
});
