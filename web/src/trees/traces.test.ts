import { expect, it } from "vitest";
import { statusesOf } from "@/stream/statuses";
import { byTurn, lastSeq, tracesIn } from "./traces";

const traced = (turn: number, steps: string[], more: object = {}) => ({
  seq: 12,
  type: "tree.traced",
  payload: { scope: "run", turn, steps, dropped: 0, errors: [], ...more },
});

it("takes the notes of the run's own tree, and nothing else", () => {
  const facts = [
    { seq: 1, type: "run.started", payload: {} },
    traced(0, ["0 running"]),
    traced(0, ["3 success"], { scope: "run/reader-1" }),
    { seq: 3, type: "tree.traced", payload: null },
    traced(1, ["0 success"], { steps: "not a list" }),
  ];
  expect(tracesIn(facts)).toEqual([
    { turn: 0, steps: ["0 running"], dropped: 0, errors: [] },
    { turn: 1, steps: [], dropped: 0, errors: [] },
  ]);
});

it("keeps the last status of each node, and leaves out what it does not understand", () => {
  expect(statusesOf(["2 running", "2 success", "0 failure", "", "x success", "7"])).toEqual({
    2: "success",
    0: "failure",
  });
});

it("puts the notes of a turn together, and begins each turn with nothing", () => {
  const traces = tracesIn([
    traced(1, ["0 running", "5 success"], { dropped: 2, errors: ["a: OSError"] }),
    traced(0, ["0 running", "4 success"]),
    traced(1, ["0 success"], { dropped: 1 }),
  ]);
  expect(byTurn(traces)).toEqual([
    { turn: 0, statuses: { 0: "running", 4: "success" }, dropped: 0, errors: [] },
    { turn: 1, statuses: { 0: "success", 5: "success" }, dropped: 3, errors: ["a: OSError"] },
  ]);
});

it("knows from where to read on", () => {
  expect(lastSeq([{ seq: 3 }, { seq: 8 }])).toBe(8);
  expect(lastSeq([])).toBeNull();
});
