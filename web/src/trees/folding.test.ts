import { describe, expect, it } from "vitest";
import {
  above,
  countBelow,
  foldedToDone,
  foldedToFit,
  moved,
  seenFor,
  shownTo,
  toggled,
  visibleNodes,
} from "./folding";
import { nodesOf, SAMPLE } from "./sample";

const NONE: ReadonlySet<number> = new Set();
const seen = (folded: ReadonlySet<number>) => visibleNodes(SAMPLE, folded).map((node) => node.name);

describe("folding", () => {
  it("hides all that is under a folded node, and nothing else", () => {
    expect(seen(new Set([1]))).toEqual(["root", "a", "b", "c", "c1"]);
    expect(seen(new Set([3, 6]))).toEqual(["root", "a", "a1", "a2", "b", "c"]);
    expect(seen(new Set([0]))).toEqual(["root"]);
  });

  it("leaves a node folded that is in a folded one", () => {
    expect(seen(new Set([1, 3]))).toEqual(["root", "a", "b", "c", "c1"]);
    expect(seen(toggled(new Set([1, 3]), 1))).toEqual(["root", "a", "a1", "a2", "b", "c", "c1"]);
  });

  it("knows how many nodes are below, and which are above", () => {
    expect([0, 1, 2, 5, 6].map((index) => countBelow(SAMPLE, index))).toEqual([7, 3, 0, 0, 1]);
    expect(above(SAMPLE, 4)).toEqual([0, 1, 3]);
    expect(countBelow(SAMPLE, 99)).toBe(0);
  });

  it("opens what hides a node, and keeps the rest", () => {
    expect([...shownTo(SAMPLE, new Set([1, 3, 6]), 4)]).toEqual([6]);
    expect(shownTo(SAMPLE, new Set([6]), 4)).toEqual(new Set([6]));
    expect(seenFor(SAMPLE, new Set([1, 3]), 4)).toBe(1);
    expect(seenFor(SAMPLE, NONE, 4)).toBe(4);
  });

  it("opens as many levels as there is room for", () => {
    expect(foldedToFit(SAMPLE, 100, 100)).toEqual(new Set());
    expect(foldedToFit(SAMPLE, 3, 100)).toEqual(new Set([1, 3]));
    expect(foldedToFit(SAMPLE, 100, 2)).toEqual(new Set([1, 3, 6]));
  });

  it("never shows more rows than wished, if it can be helped", () => {
    const branch = (name: string): [string, [string], [string], [string]] => [name, ["x"], ["y"], ["z"]];
    const wide = nodesOf(["root", ...["a", "b", "c", "d", "e", "f"].map(branch)]);
    const shown = visibleNodes(wide, foldedToFit(wide, 9, 9));
    const leaves = shown.filter((node, at) => (shown[at + 1]?.depth ?? 0) <= node.depth);
    expect(leaves.length).toBeLessThanOrEqual(9);
    expect(leaves.length).toBeGreaterThan(6);
  });

  it("folds what had no part in a run", () => {
    expect(foldedToDone(SAMPLE, { 0: "running", 1: "failure", 6: "success" })).toEqual(new Set([1, 3]));
  });
});

describe("the arrow keys", () => {
  it.each([
    ["ArrowDown", 0, NONE, { to: 1 }],
    ["ArrowDown", 1, new Set([1]), { to: 5 }],
    ["ArrowDown", 7, NONE, null],
    ["ArrowUp", 5, NONE, { to: 4 }],
    ["ArrowUp", 5, new Set([1]), { to: 1 }],
    ["ArrowUp", 0, NONE, null],
    ["ArrowRight", 1, new Set([1]), { toggle: 1 }],
    ["ArrowRight", 1, NONE, { to: 2 }],
    ["ArrowRight", 5, NONE, null],
    ["ArrowLeft", 1, NONE, { toggle: 1 }],
    ["ArrowLeft", 1, new Set([1]), { to: 0 }],
    ["ArrowLeft", 4, NONE, { to: 3 }],
    ["ArrowLeft", 0, new Set([0]), null],
    ["Home", 6, NONE, { to: 0 }],
    ["End", 0, new Set([6]), { to: 6 }],
    ["x", 0, NONE, null],
  ] as const)("%s on %d", (key, index, folded, wished) => {
    expect(moved(SAMPLE, folded, index, key)).toEqual(wished);
  });
});
