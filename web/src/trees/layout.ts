/** Where the cards of a drawn tree stand: left to right, a column for each level, each beside the first one below
 * it. Folding a node moves only what is under it: nothing that one looks at jumps. Pure. */
import { type Folded, visibleNodes } from "./folding";
import type { TreeNode } from "./tree-shapes";

export const CARD = { width: 180, height: 38 } as const;
const GAP = { x: 32, y: 8 } as const;

export type Spot = { x: number; y: number };
export type Layout = { spots: ReadonlyMap<number, Spot>; seen: readonly TreeNode[] };

export function layoutOf(nodes: readonly TreeNode[], folded: Folded): Layout {
  const seen = visibleNodes(nodes, folded);
  const spots = new Map<number, Spot>();
  let row = -1;
  for (const node of seen) {
    // The first below stands in the row of what is above it; every other begins a row.
    const isFirst = node.parent !== null && nodes[node.parent]?.children[0] === node.index;
    if (!isFirst) row += 1;
    spots.set(node.index, { x: node.depth * (CARD.width + GAP.x), y: row * (CARD.height + GAP.y) });
  }
  return { spots, seen };
}

export type Viewport = { x: number; y: number; zoom: number };
type Size = { width: number; height: number };

const MARGIN = 24;
const SMALLEST_FIRST = 0.75;

/** How to look at it first: all of it if it can be read then, else from the left edge, at the height of `focus`. */
export function firstView({ spots }: Layout, size: Size, focus: number): Viewport {
  const all = [...spots.values()];
  const width = Math.max(0, ...all.map((spot) => spot.x)) + CARD.width;
  const height = Math.max(0, ...all.map((spot) => spot.y)) + CARD.height;
  const fit = Math.min((size.width - 2 * MARGIN) / width, (size.height - 2 * MARGIN) / height);
  const zoom = Math.min(1, Math.max(fit, SMALLEST_FIRST));
  const middle = spots.get(focus) ?? { x: 0, y: 0 };
  const along = (room: number, length: number, at: number) => {
    if (length * zoom + 2 * MARGIN <= room) return (room - length * zoom) / 2;
    const wished = room / 2 - at * zoom;
    return Math.min(MARGIN, Math.max(wished, room - MARGIN - length * zoom));
  };
  return {
    x: along(size.width, width, middle.x + CARD.width / 2),
    y: along(size.height, height, middle.y + CARD.height / 2),
    zoom,
  };
}

/** Whether a card is wholly to be seen. */
export function isInView(spot: Spot, size: Size, { x, y, zoom }: Viewport): boolean {
  const left = spot.x * zoom + x;
  const top = spot.y * zoom + y;
  return (
    left >= 0 && top >= 0 && left + CARD.width * zoom <= size.width && top + CARD.height * zoom <= size.height
  );
}
