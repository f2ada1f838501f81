/** Which nodes of a tree are folded away, and what is then still to be seen. Pure.
 *
 * Nodes come each before its children, and their index is their place in the list. */
import type { TreeNode } from "./tree-shapes";

export type Folded = ReadonlySet<number>;

const MOST_ROWS = 16;
const MOST_COLUMNS = 4;

/** Those that are under no folded node. */
export function visibleNodes(nodes: readonly TreeNode[], folded: Folded): TreeNode[] {
  const seen: TreeNode[] = [];
  let hiddenBelow = Number.POSITIVE_INFINITY;
  for (const node of nodes) {
    if (node.depth > hiddenBelow) continue;
    hiddenBelow = folded.has(node.index) ? node.depth : Number.POSITIVE_INFINITY;
    seen.push(node);
  }
  return seen;
}

/** How many nodes stand below this one, at any depth. */
export function countBelow(nodes: readonly TreeNode[], index: number): number {
  const top = nodes[index];
  if (top === undefined) return 0;
  let end = index + 1;
  while ((nodes[end]?.depth ?? -1) > top.depth) end += 1;
  return end - index - 1;
}

/** The nodes above one, from the root down. */
export function above(nodes: readonly TreeNode[], index: number): number[] {
  const found: number[] = [];
  for (let at = nodes[index]?.parent ?? null; at !== null; at = nodes[at]?.parent ?? null) found.unshift(at);
  return found;
}

/** A first look that can be read: opened level by level, as far as there is room. */
export function foldedToFit(
  nodes: readonly TreeNode[],
  mostRows: number = MOST_ROWS,
  mostColumns: number = MOST_COLUMNS,
): Folded {
  const folded = new Set<number>();
  let rows = 1;
  for (const node of [...nodes].sort((one, other) => one.depth - other.depth || one.index - other.index)) {
    if (node.children.length === 0) continue;
    const isHidden = node.parent !== null && folded.has(node.parent);
    const rowsThen = rows + node.children.length - 1;
    if (isHidden || node.depth + 1 >= mostColumns || rowsThen > mostRows) folded.add(node.index);
    else rows = rowsThen;
  }
  return folded;
}

/** What did nothing, or came to nothing, is folded: one sees the way that was taken. */
export function foldedToDone(nodes: readonly TreeNode[], statuses: Readonly<Record<number, string>>): Folded {
  const isWay = (index: number) => statuses[index] === "success" || statuses[index] === "running";
  return new Set(
    nodes.filter((node) => node.children.length > 0 && !isWay(node.index)).map((node) => node.index),
  );
}

export function toggled(folded: Folded, index: number): Folded {
  const after = new Set(folded);
  if (!after.delete(index)) after.add(index);
  return after;
}

/** Nothing above the node is folded any more, so that it can be seen. */
export function shownTo(nodes: readonly TreeNode[], folded: Folded, index: number): Folded {
  const inTheWay = above(nodes, index).filter((one) => folded.has(one));
  if (inTheWay.length === 0) return folded;
  const after = new Set(folded);
  for (const one of inTheWay) after.delete(one);
  return after;
}

/** The node itself, or the folded one that hides it. */
export function seenFor(nodes: readonly TreeNode[], folded: Folded, index: number): number {
  return above(nodes, index).find((one) => folded.has(one)) ?? index;
}

/** What the arrow keys do in a tree, as people know it from elsewhere: a node to go to, or one to fold or open. */
export function moved(
  nodes: readonly TreeNode[],
  folded: Folded,
  index: number,
  key: string,
): { to: number } | { toggle: number } | null {
  const node = nodes[index];
  if (node === undefined) return null;
  const seen = visibleNodes(nodes, folded);
  const place = seen.findIndex((one) => one.index === index);
  const to = (one: TreeNode | undefined) =>
    one === undefined || one.index === index ? null : { to: one.index };
  switch (key) {
    case "ArrowDown":
      return to(seen[place + 1]);
    case "ArrowUp":
      return place > 0 ? to(seen[place - 1]) : null;
    case "Home":
      return to(seen[0]);
    case "End":
      return to(seen.at(-1));
    case "ArrowRight":
      if (node.children.length === 0) return null;
      return folded.has(index) ? { toggle: index } : to(seen[place + 1]);
    case "ArrowLeft":
      if (node.children.length > 0 && !folded.has(index)) return { toggle: index };
      return node.parent === null ? null : { to: node.parent };
    default:
      return null;
  }
}
