import { expect, it } from "vitest";
import { evidenceOf } from "./evidence";
import type { Moment } from "./run-shapes";
import { atLeast } from "./timeline-lines";

function moment(seq: number, severity: string): Moment {
  return {
    seq,
    severity,
    time: "2026-01-01T00:00:00Z",
    at_s: 0,
    scope: "run",
    turn: null,
    type: "x",
    title: "",
    detail: "",
  };
}
const ALL = ["debug", "info", "warning", "error", "critical", "brand_new"].map((severity, seq) =>
  moment(seq, severity),
);

it.each([
  ["debug", [0, 1, 2, 3, 4, 5]],
  ["info", [1, 2, 3, 4, 5]],
  ["warning", [2, 3, 4, 5]],
  ["error", [3, 4, 5]],
] as const)(
  "shows what matters at least as much as %s, and never hides what it does not know",
  (level, seqs) => {
    expect(atLeast(ALL, level).map((one) => one.seq)).toEqual(seqs);
  },
);

it.each([
  ["turn 3, call t3_1: echo({a: 1})", "turn 3, call t3_1", "echo({a: 1})"],
  ["turn 12: said: the same\nagain", "turn 12", "said: the same\nagain"],
  ["something else: entirely", "", "something else: entirely"],
])("takes a line of evidence apart: %s", (line, where, what) => {
  expect(evidenceOf(line)).toEqual({ where, what });
});
