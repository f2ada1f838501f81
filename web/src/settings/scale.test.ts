import { describe, expect, it } from "vitest";
import { evenScale, growingScale } from "./scale";

describe("an even scale", () => {
  it("has one step for each value of a small range", () => {
    const turns = evenScale(1, 100);
    expect(turns.steps).toBe(99);
    for (let value = 1; value <= 100; value += 1) expect(turns.valueAt(turns.positionOf(value))).toBe(value);
  });

  it("has round values in a large range, and both ends", () => {
    const seconds = evenScale(10, 3_600);
    expect(seconds.steps).toBeLessThanOrEqual(200);
    expect(seconds.valueAt(0)).toBe(10);
    expect(seconds.valueAt(seconds.steps)).toBe(3_600);
    expect(seconds.valueAt(100) % 10).toBe(0);
    expect(seconds.valueAt(seconds.positionOf(300))).toBe(300);
  });
});

describe("a growing scale", () => {
  it("has both ends", () => {
    const tokens = growingScale(1_000, 2_000_000);
    expect([tokens.valueAt(0), tokens.valueAt(tokens.steps)]).toEqual([1_000, 2_000_000]);
    expect([tokens.positionOf(1_000), tokens.positionOf(2_000_000)]).toEqual([0, tokens.steps]);
  });

  it("moves on with every step, in values of two digits", () => {
    for (const scale of [growingScale(1_000, 2_000_000), growingScale(0.01, 1_000)]) {
      for (let position = 1; position <= scale.steps; position += 1) {
        const value = scale.valueAt(position);
        expect(value).toBeGreaterThanOrEqual(scale.valueAt(position - 1));
        expect(value).toBe(Number(value.toPrecision(2)));
      }
    }
  });

  it("stands at the nearest step for a value between, and at an end for one beyond", () => {
    const cost = growingScale(0.01, 1_000);
    expect(cost.valueAt(cost.positionOf(0.42))).toBeCloseTo(0.42, 1);
    expect(cost.positionOf(0)).toBe(0);
    expect(cost.positionOf(5_000)).toBe(cost.steps);
  });
});
