import { describe, expect, it } from "vitest";
import { boundWords, type Field, GROUPS, isSame, scaleOf, sentFor, textOf } from "./fields";

const FIELDS = GROUPS.flatMap((group) => group.fields);
function field(name: string): Field {
  const found = FIELDS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no field ${name}`);
  return found;
}

describe("what is sent for what was typed", () => {
  it.each([
    ["30", 30],
    [" 30 ", 30],
    ["200,000", 200_000],
    ["200 000", 200_000],
    ["1.5", 1.5], // the server says that it must be whole
    ["1,5", "1,5"], // and not 15
    ["-4", -4],
    ["many", "many"],
    ["", ""],
  ])("a count: %j", (typed, sent) => {
    expect(sentFor(field("token_budget"), typed)).toBe(sent);
  });

  it.each([
    ["0.50", "0.50"],
    ["$ 0.50", "0.50"],
    ["0,50", "0,50"], // and not 50 dollars
    [null, null],
  ])("money stays text: %j", (typed, sent) => {
    expect(sentFor(field("cost_limit_usd"), typed)).toBe(sent);
  });
});

it.each([
  ["1.", "1", true],
  ["1.00", "1", true],
  ["1.5", "1", false],
  ["", "0", false],
  ["1", null, false],
  ["1,", "1", false],
])("%j is the same money as %j: %s", (typed, value, same) => {
  expect(isSame(field("cost_limit_usd"), typed, value)).toBe(same);
});

describe("what a field shows", () => {
  it("says what is allowed and what is usual", () => {
    const turns = boundWords(field("max_iterations"), { default: 30, smallest: 1, largest: 100 });
    expect(turns).toBe("1 to 100 turns; 30 unless you change it.");
    const cost = boundWords(field("cost_limit_usd"), { default: null, smallest: "0.01", largest: "1000" });
    expect(cost).toBe("$0.01 to $1,000; no limit unless you change it.");
  });

  it("writes money with its cents wherever the slider stands", () => {
    const cost = field("cost_limit_usd");
    const scale = scaleOf(cost, { default: null, smallest: "0.01", largest: "1000" });
    for (let position = 0; position <= scale.steps; position += 1) {
      const text = textOf(cost, scale.valueAt(position));
      expect(Number(text)).toBeGreaterThanOrEqual(0.01);
      expect(text).toMatch(/^\d+\.\d\d$/);
    }
  });

  it("names every setting once", () => {
    const names = FIELDS.map((one) => one.name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toHaveLength(8);
  });
});
