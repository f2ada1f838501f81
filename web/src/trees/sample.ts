/** A small tree for tests. */
import type { TreeNode } from "./tree-shapes";

type Sketch = [name: string, ...below: Sketch[]];

/** Nodes in their order, with leaves that are actions and all else sequences. */
export function nodesOf(sketch: Sketch): TreeNode[] {
  const nodes: TreeNode[] = [];
  const add = ([name, ...below]: Sketch, parent: TreeNode | null) => {
    const node: TreeNode = {
      index: nodes.length,
      parent: parent?.index ?? null,
      depth: parent === null ? 0 : parent.depth + 1,
      kind: below.length > 0 ? "sequence" : "action",
      group: below.length > 0 ? "composite" : "leaf",
      sign: below.length > 0 ? "→" : "!",
      name,
      path: parent === null ? name : `${parent.path}/${name}`,
      children: [],
      parameters: {},
      file: "sample.lua",
      line: nodes.length + 1,
    };
    nodes.push(node);
    parent?.children.push(node.index);
    for (const one of below) add(one, node);
  };
  add(sketch, null);
  return nodes;
}

/** 0 root: 1 a (2 a1, 3 a2 (4 deep)), 5 b, 6 c (7 c1). */
export const SAMPLE = nodesOf(["root", ["a", ["a1"], ["a2", ["deep"]]], ["b"], ["c", ["c1"]]]);
