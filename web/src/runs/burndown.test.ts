import { describe, expect, it } from "vitest";
import { chartOf, clockOf, limitAt, limitedKinds, rowsOf } from "./burndown-data";
import { groupsOf, weightiest } from "./burndown-marks";
import { readingAt } from "./burndown-reading";
import { sentenceOf } from "./burndown-sentence";
import { thinned } from "./burndown-thinned";
import type { AllowedPoint, Burndown, Mark, MarkKind, UsedPoint } from "./run-shapes";

function point(atS: number, seq: number, turns: number, change: Partial<UsedPoint> = {}): UsedPoint {
  return { at_s: atS, seq, turns, tokens: turns * 100, cost_usd: "0", seconds: atS, ...change };
}
function allowed(atS: number, change: Partial<AllowedPoint> = {}): AllowedPoint {
  return { at_s: atS, turns: 12, tokens: 200_000, cost_usd: null, seconds: 20, ...change };
}
function mark(atS: number, seq: number, kind: MarkKind, text = ""): Mark {
  return { at_s: atS, seq, kind, text };
}
function burndown(change: Partial<Burndown>): Burndown {
  const points = [point(0, 0, 0), point(1.6, 56, 8), point(4.2, 86, 12)];
  return { run_id: "run_1", unit_limits: {}, points, limits: [allowed(0)], marks: [], ...change };
}
const REACHED = mark(4.2, 87, "ended", "forced to complete: Iteration limit reached (12/12).");
const WARNED = mark(1.6, 58, "warning", "Approaching iteration limit (8/12).");

describe("the sentence", () => {
  it("tells what was used, when the warning came and how it ended", () => {
    expect(sentenceOf(burndown({ marks: [WARNED, REACHED] }))).toBe(
      "It used 12 of 12 turns in 4.2 s; the warning came at turn 9; it was stopped at the turn limit.",
    );
  });

  it("names another limit when that was nearer than the turns", () => {
    const points = [point(0, 0, 0), point(2, 50, 9, { tokens: 200_000 })];
    const marks = [mark(2, 51, "ended", "forced to complete: Token limit reached (200,000/200,000).")];
    expect(sentenceOf(burndown({ points, marks }))).toBe(
      "It used 9 of 12 turns and 200,000 of 200,000 tokens in 2.0 s; it was stopped at the token limit.",
    );
  });

  it("says when the time was up", () => {
    const points = [point(0, 0, 0), point(20, 9, 1)];
    const marks = [mark(20, 10, "ended", "forced to complete: Time limit reached (20.0 s/20 s).")];
    expect(sentenceOf(burndown({ points, marks }))).toBe(
      "It used 1 of 12 turns in 20 s, all the time it had; it was stopped at the time limit.",
    );
  });

  it("leaves out limits that there are not", () => {
    const limits = [allowed(0, { turns: null, tokens: null, seconds: null })];
    expect(sentenceOf(burndown({ limits, marks: [mark(4.2, 87, "ended", "completed")] }))).toBe(
      "It used 12 turns in 4.2 s; it finished by itself.",
    );
  });

  it("counts several, and tells of grants and of waiting", () => {
    const points = [
      point(0, 0, 0),
      point(4, 60, 12),
      point(304, 70, 12, { seconds: 4 }),
      point(306, 90, 15, { seconds: 6 }),
    ];
    const limits = [allowed(0), allowed(304, { turns: 22 })];
    const marks = [
      WARNED,
      mark(1.8, 59, "warning"),
      mark(4, 61, "paused"),
      mark(304, 70, "grant"),
      mark(304, 71, "resumed"),
      mark(306, 91, "ended", "cancelled by anna"),
    ];
    expect(sentenceOf(burndown({ points, limits, marks }))).toBe(
      "It used 15 of 22 turns in 6.0 s; 2 warnings came, the first at turn 1; more budget came after 12 turns; " +
        "it waited 5 min for a person, which is not counted; it was cancelled by anna.",
    );
  });

  it.each([
    ["completed, with a warning: late", "it finished by itself, with a warning"],
    ["failed (model_failed): no key", "it failed"],
    ["abandoned: no way", "it gave up"],
    ["stopped: something else", "it was stopped"],
    ["failed (policy_error): Time limit reached", "it failed"],
  ])("ends with how it ended: %s", (text, words) => {
    expect(sentenceOf(burndown({ marks: [mark(4.2, 87, "ended", text)] }))).toMatch(
      new RegExp(`; ${words}\\.$`),
    );
  });

  it("says what stands in the way of an end", () => {
    expect(sentenceOf(burndown({}))).toMatch(/it has not ended yet\.$/);
    expect(sentenceOf(burndown({ marks: [mark(4, 87, "paused")] }))).toMatch(/it waits for a person\.$/);
    const goesOn = [mark(4, 87, "paused"), mark(4.1, 88, "resumed")];
    expect(sentenceOf(burndown({ marks: goesOn }))).toMatch(/it has not ended yet\.$/);
    expect(sentenceOf(burndown({ points: [] }))).toBe("Nothing was used yet.");
  });

  it("knows no turn after the last one", () => {
    const late = mark(4.2, 86, "finding");
    expect(sentenceOf(burndown({ marks: [late, REACHED] }))).toContain("a finding came at turn 12;");
    expect(sentenceOf(burndown({ marks: [late] }))).toContain("a finding came at turn 13;");
  });

  it("blames what was found when no limit was reached", () => {
    const marks = [
      mark(4, 80, "finding", "A cycle"),
      mark(4.2, 87, "ended", "forced to complete: The same 2 actions."),
    ];
    expect(sentenceOf(burndown({ marks }))).toMatch(
      /a finding came at turn 9; it was stopped because of what was found\.$/,
    );
  });
});

describe("the clock of the chart", () => {
  it("stands still while the run waits for a person", () => {
    const at = clockOf([mark(4, 1, "paused"), mark(104, 2, "resumed"), mark(110, 3, "paused")]);
    expect([at(2), at(4), at(50), at(104), at(106), at(110), at(500)]).toEqual([2, 4, 4, 4, 6, 10, 10]);
  });
});

describe("what is drawn", () => {
  it("is percent of the limit that held at that time", () => {
    const limits = [allowed(0), allowed(3, { turns: 24 })];
    const { lines, xs, top } = chartOf(burndown({ limits }), "percent");
    expect(xs).toEqual([0, 1.6, 4.2]);
    expect(lines.map((one) => one.kind)).toEqual(["turns", "tokens", "seconds"]);
    expect(lines[0]?.values.map((value) => Math.round(value ?? -1))).toEqual([0, 67, 50]);
    expect(top).toBeGreaterThan(100);
  });

  it("is one meter with its limit, which steps at a grant", () => {
    const limits = [allowed(0), allowed(3, { turns: 24 })];
    const { lines, top } = chartOf(burndown({ limits }), "turns");
    expect(lines.map((one) => one.values)).toEqual([
      [0, 8, 12],
      [12, 12, 24],
    ]);
    expect(top).toBeGreaterThan(24);
  });

  it("has a gap where the cost is unknown, never a zero", () => {
    const points = [point(0, 0, 0, { cost_usd: "0" }), point(1, 2, 1, { cost_usd: null })];
    const limits = [allowed(0, { cost_usd: "0.42" })];
    expect(chartOf(burndown({ points, limits }), "cost_usd").lines[0]?.values).toEqual([0, null]);
  });

  it("numbers the marks in their order", () => {
    expect(
      chartOf(burndown({ marks: [WARNED, REACHED] }), "percent").marks.map((one) => [one.number, one.x]),
    ).toEqual([
      [1, 1.6],
      [2, 4.2],
    ]);
  });

  it("draws only what is limited", () => {
    expect(limitedKinds(burndown({ limits: [allowed(0, { tokens: null })] }))).toEqual(["turns", "seconds"]);
    expect(limitAt(burndown({ limits: [] }), "turns", 1)).toBeNull();
  });
});

describe("the table beside the chart", () => {
  it("has a row for each turn, the first and the last", () => {
    const points = [point(0, 0, 0), point(1, 1, 0), point(2, 2, 1), point(3, 3, 1), point(4, 4, 1)];
    expect(rowsOf(burndown({ points })).map((one) => one.seq)).toEqual([0, 2, 4]);
  });

  it("is thinned when it is long, and keeps both ends", () => {
    const points = Array.from({ length: 500 }, (_, turn) => point(turn, turn, turn));
    const rows = rowsOf(burndown({ points }));
    expect(rows).toHaveLength(40);
    expect([rows[0]?.turns, rows.at(-1)?.turns]).toEqual([0, 499]);
    expect(thinned([1, 2, 3], 2)).toEqual([1, 3]);
  });
});

describe("marks", () => {
  const placed = (number: number, x: number) => ({ ...mark(x, number, "finding"), number, x });

  it("share a place when they would stand on each other", () => {
    const groups = groupsOf(
      [placed(1, 0), placed(2, 50), placed(3, 55), placed(4, 60), placed(5, 90)],
      (x) => x,
      20,
    );
    expect(groups.map((group) => [group.left, group.label])).toEqual([
      [0, "1"],
      [50, "2–4"],
      [90, "5"],
    ]);
  });
});

it("shows a group of marks as the one that tells most", () => {
  const placed = (kind: MarkKind) => ({ ...mark(1, 1, kind), number: 1, x: 1 });
  expect(weightiest([placed("paused"), placed("resumed"), placed("grant")])).toBe("grant");
  expect(weightiest([placed("ended"), placed("finding")])).toBe("finding");
});

describe("reading a moment", () => {
  it("tells what was used, and how much of the limit that is", () => {
    expect(readingAt(burndown({}), 1)).toBe("At 1.6 s: turns 8 (67 %), tokens 800 (0 %), cost $0.00");
  });

  it("says nothing where there is nothing, and unknown where it is", () => {
    expect(readingAt(burndown({}), null)).toBeNull();
    expect(readingAt(burndown({}), 99)).toBeNull();
    const points = [point(0, 0, 0, { cost_usd: null })];
    expect(readingAt(burndown({ points }), 0)).toContain("cost unknown");
  });
});
