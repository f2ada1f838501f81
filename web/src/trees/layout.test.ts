import { describe, expect, it } from "vitest";
import { CARD, firstView, isInView, layoutOf, type Spot } from "./layout";
import { nodesOf, SAMPLE } from "./sample";

const NONE: ReadonlySet<number> = new Set();

/** A tree that is different at each `seed`, and the same for the same one. */
function grown(seed: number): ReturnType<typeof nodesOf> {
  let state = seed;
  const next = (most: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * most);
  };
  type Sketch = Parameters<typeof nodesOf>[0];
  const sketch = (depth: number): Sketch => [
    `n${depth}`,
    ...Array.from({ length: depth > 5 ? 0 : next(4) }, () => sketch(depth + 1)),
  ];
  return nodesOf(["root", sketch(1), sketch(1), sketch(1)]);
}

function overlap(one: Spot, other: Spot): boolean {
  return Math.abs(one.x - other.x) < CARD.width && Math.abs(one.y - other.y) < CARD.height;
}

describe("layoutOf", () => {
  it("puts each level into a column, and each node beside the first one below it", () => {
    const { spots } = layoutOf(SAMPLE, NONE);
    const at = (index: number) => spots.get(index) ?? { x: -1, y: -1 };
    expect(at(0)).toEqual({ x: 0, y: 0 });
    expect(at(1).y).toBe(at(0).y);
    expect(at(2).y).toBe(at(1).y);
    expect(at(3).y).toBeGreaterThan(at(2).y);
    expect(at(4).x).toBeGreaterThan(at(3).x);
    expect(at(5).x).toBe(at(1).x);
    expect(at(6).y).toBeGreaterThan(at(5).y);
  });

  it.each(Array.from({ length: 30 }, (_, seed) => seed + 1))(
    "has no overlaps, and keeps the order (%d)",
    (seed) => {
      const nodes = grown(seed);
      const folded = new Set(nodes.filter((node) => node.index % 5 === seed % 5).map((node) => node.index));
      const { spots, seen } = layoutOf(nodes, folded);
      expect(spots.size).toBe(seen.length);
      const placed = [...spots.values()];
      for (const [at, one] of placed.entries()) {
        for (const other of placed.slice(at + 1)) expect(overlap(one, other)).toBe(false);
      }
      for (const node of seen) {
        const ys = node.children.flatMap((child) => spots.get(child)?.y ?? []);
        expect(ys).toEqual([...ys].sort((one, other) => one - other));
      }
    },
  );

  it("moves nothing that stands above or before a node that is folded", () => {
    const before = layoutOf(SAMPLE, NONE).spots;
    const after = layoutOf(SAMPLE, new Set([3])).spots;
    for (const index of [0, 1, 2, 3]) expect(after.get(index)).toEqual(before.get(index));
    expect(after.has(4)).toBe(false);
  });
});

describe("firstView", () => {
  it("shows all of a small tree, in the middle", () => {
    const layout = layoutOf(SAMPLE, NONE);
    const size = { width: 2_000, height: 1_000 };
    const view = firstView(layout, size, 0);
    expect(view.zoom).toBe(1);
    for (const spot of layout.spots.values()) expect(isInView(spot, size, view)).toBe(true);
  });

  it("shows what is looked for in a large one, and stays readable", () => {
    const nodes = nodesOf(["root", ...Array.from({ length: 80 }, (_, at): [string] => [`n${at}`])]);
    const layout = layoutOf(nodes, NONE);
    const size = { width: 600, height: 400 };
    for (const focus of [0, 40, 80]) {
      const view = firstView(layout, size, focus);
      expect(view.zoom).toBeGreaterThanOrEqual(0.75);
      expect(isInView(layout.spots.get(focus) ?? { x: -9, y: -9 }, size, view)).toBe(true);
    }
  });
});
