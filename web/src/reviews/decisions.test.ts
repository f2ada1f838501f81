import { describe, expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { decidedElsewhere, decisionOf, elsewhereWords, keyOf, outcomeWords, readKey } from "./decisions";
import type { Review } from "./review-queries";

const REVIEW: Review = {
  run_id: "run_1",
  review_id: "review:1",
  conversation_id: null,
  question: "Where are limits checked?",
  why: "Iteration limit reached (4/4).",
  doing: "",
  spent: "4 turns",
  findings: [],
  origin: "RUNNING",
  warnings: [],
  times_in_a_row: 0,
  requested_at: "2026-03-10T12:00:00Z",
  decision: null,
  decided_by: null,
  decided_at: null,
};
const TEN = { turns: 10, model_calls: 0, tokens: 0, cost_usd: "0", seconds: 0, why: "granted on the page" };

describe("a form", () => {
  const amounts = { turns: "10" };

  it("approves with an amount, and a reason if one is given", () => {
    expect(decisionOf({ choice: "approved", amounts, words: " " })).toEqual({
      decision: { decision: "approved", grant: TEN },
    });
    expect(decisionOf({ choice: "approved", amounts, words: "nearly there " })).toEqual({
      decision: { decision: "approved", grant: TEN, why: "nearly there" },
    });
  });

  it("asks for changes with feedback", () => {
    expect(decisionOf({ choice: "needs_changes", amounts, words: "Look in docs/" })).toEqual({
      decision: { decision: "needs_changes", feedback: "Look in docs/", grant: TEN },
    });
    expect(decisionOf({ choice: "needs_changes", amounts, words: "" })).toHaveProperty("problems.words");
  });

  it("rejects with a reason and without a grant", () => {
    expect(decisionOf({ choice: "rejected", amounts, words: "not worth it" })).toEqual({
      decision: { decision: "rejected", why: "not worth it" },
    });
    expect(decisionOf({ choice: "rejected", amounts, words: "" })).toHaveProperty("problems.words");
  });

  it("says everything that is wrong at once", () => {
    const read = decisionOf({ choice: "needs_changes", amounts: { turns: "ten" }, words: "" });
    expect(read).toHaveProperty("problems.words");
    expect(read).toHaveProperty("problems.amounts.turns");
    expect(decisionOf({ choice: "approved", amounts: {}, words: "" })).toHaveProperty("problems.grant");
  });
});

describe("what others decided", () => {
  const decided = { ...REVIEW, decision: "approved", decided_by: "ana" };

  it("is what waited before, does not now, and was not decided here", () => {
    expect(decidedElsewhere([REVIEW], [decided], new Set())).toEqual([decided]);
    expect(decidedElsewhere([REVIEW], [decided], new Set([keyOf(REVIEW)]))).toEqual([]);
    expect(decidedElsewhere([decided], [decided], new Set())).toEqual([]);
    expect(decidedElsewhere([], [decided], new Set())).toEqual([]);
  });

  it("is told with who it was", () => {
    expect(elsewhereWords(decided)).toBe("“Where are limits checked?”: decided meanwhile by ana, approved.");
    expect(elsewhereWords({ ...decided, question: "x".repeat(500) }).length).toBeLessThan(200);
  });
});

describe("what became of a decision", () => {
  const run: Schemas["RunShape"] = {
    run_id: "run_1",
    phase: "RUNNING",
    is_left_open: false,
    agent: "oracle",
    model: "m",
    question: "",
    project: null,
    conversation_id: null,
    facts: 1,
    turns: 4,
    tokens: 10,
    cost_usd: null,
    started_at: "2026-03-10T12:00:00Z",
    changed_at: "2026-03-10T12:00:00Z",
    ended_at: null,
    ending: null,
    exit_code: null,
  };

  it.each([
    ["approved", true, null, "approved. The run goes on."],
    ["rejected", false, "It was rejected", "rejected. The run has ended, with its work saved."],
    [
      "approved",
      false,
      "Its agent cannot be made anew",
      "approved. The run does not go on yet: Its agent cannot be made anew.",
    ],
  ])("%s (goes on: %s)", (decision, is_resumed, why_not, words) => {
    const told = outcomeWords(REVIEW, { decision, is_resumed, why_not, run });
    expect(told).toBe(`“Where are limits checked?”: ${words}`);
  });
});

it.each([
  ["run_1/review:1", { runId: "run_1", reviewId: "review:1" }],
  [null, null],
  ["run_1", null],
  ["run_1/", null],
  ["a/b/c", null],
])("the link %j leads to %j", (key, place) => {
  expect(readKey(key)).toEqual(place);
});
