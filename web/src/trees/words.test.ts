import { describe, expect, it } from "vitest";
import { boundRows, boundSentence, leavesSentence } from "./bound-words";
import { nameOf, nodeSentence, parametersOf, shortName } from "./node-words";
import { SAMPLE } from "./sample";
import { standingOfNode, standingsOf } from "./standings";
import { fileOf, treeIn } from "./tree-shapes";

const [ROOT, A, LEAF] = SAMPLE;
if (ROOT === undefined || A === undefined || LEAF === undefined) throw new Error("the sample has nodes");

const RUN = {
  turns: 30,
  model_calls: 120,
  tool_calls: 300,
  tokens: 200_000,
  cost_usd: "0.421",
  seconds: 300,
};
const NOTHING = {
  turns: null,
  model_calls: null,
  tool_calls: null,
  tokens: null,
  cost_usd: null,
  seconds: null,
};

describe("a bound", () => {
  it("is said in a sentence, never rounded down", () => {
    const bound = { leaf_runs_per_pass: 1_656, per_run: RUN, per_pass: NOTHING };
    expect(boundSentence(bound)).toBe("A run can use at most 30 turns, 200,000 tokens, $0.43, and 5 min.");
    expect(leavesSentence(bound)).toBe("One pass through the tree runs at most 1,656 leaves.");
    expect(boundSentence({ ...bound, per_run: { ...RUN, cost_usd: "0.42", turns: 1 } })).toContain(
      "1 turn, 200,000 tokens, $0.42",
    );
  });

  it("says where there is none", () => {
    const bound = { leaf_runs_per_pass: 1, per_run: NOTHING, per_pass: RUN };
    expect(boundSentence(bound)).toBe("Nothing bounds a run of this tree under your settings.");
    expect(boundRows(bound).find((row) => row.name === "Cost")).toEqual({
      name: "Cost",
      perRun: "no bound",
      perPass: "$0.43",
    });
    expect(leavesSentence(bound)).toBe("One pass through the tree runs at most 1 leaf.");
  });
});

describe("how a node stands", () => {
  const question = { ...LEAF, kind: "condition" };

  it("takes a no for an answer, and failed work for trouble", () => {
    expect(standingOfNode(question, "failure", false)).toMatchObject({ sign: "failure", word: "no" });
    expect(standingOfNode(question, "success", false)).toMatchObject({ sign: "success", word: "yes" });
    expect(standingOfNode(A, "failure", false)).toMatchObject({ sign: "failure", word: "did not succeed" });
    expect(standingOfNode(LEAF, "failure", false)).toMatchObject({ sign: "trouble", word: "failed" });
  });

  it("says so if it was never reached, and shows a status it does not know", () => {
    expect(standingOfNode(LEAF, undefined, false).word).toBe("not reached");
    expect(standingOfNode(LEAF, undefined, false, true).word).toBe("not noted yet");
    expect(standingOfNode(LEAF, "asleep", false)).toMatchObject({ sign: "none", word: "asleep" });
  });

  it("is running now on the path, whatever was noted before", () => {
    const standings = standingsOf(SAMPLE, { 0: "success", 1: "running" }, [0, 2]);
    expect([0, 1, 2].map((index) => standings.get(index)?.word)).toEqual([
      "running now",
      "goes on",
      "running now",
    ]);
  });
});

describe("a node in words", () => {
  it("has its kind for a name where it has none of its own", () => {
    const plain = { ...A, kind: "always_succeed", name: "always_succeed" };
    expect(nameOf(plain)).toBe("always succeed");
    expect(nodeSentence(plain, null, 3, true)).toBe("always succeed, 3 below, folded");
    expect(nodeSentence(A, standingOfNode(A, "success", false), 3, false)).toBe("sequence a, succeeded");
  });

  it("is short where it is named after its function, and whole where it is not", () => {
    const leaf = { ...LEAF, name: "turn.take_turn", parameters: { fn: "turn.take_turn" } };
    expect(shortName(leaf)).toBe("take_turn");
    expect(shortName({ ...leaf, name: "ver. 2" })).toBe("ver. 2");
  });

  it("says what it was given, and nothing twice", () => {
    const parameters = { fn: "a1", args: {}, list: [], max: "max_turns", of: { type: "x" }, none: null };
    expect(parametersOf({ ...LEAF, parameters })).toEqual([
      { name: "max", value: "max_turns" },
      { name: "of", value: '{"type":"x"}' },
    ]);
  });
});

it("knows the file of a tree, and the tree of a file", () => {
  expect(fileOf("my-agent")).toBe("my-agent.lua");
  expect(treeIn("trees/my-agent.lua")).toBe("my-agent");
});
