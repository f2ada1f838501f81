/** From the lines of a file to the nodes that are made there, and back. Pure. */
import type { TreeNode, TreeProblem } from "./tree-shapes";
import { treeIn } from "./tree-shapes";

/** The files that the nodes come from, the given one first. */
export function filesOf(nodes: readonly TreeNode[], main: string): string[] {
  return [...new Set([main, ...nodes.map((node) => node.file)])];
}

/** The nodes by the line that makes them; a line in a function can make many. */
export function nodesByLine(
  nodes: readonly TreeNode[],
  file: string,
): ReadonlyMap<number, readonly TreeNode[]> {
  return grouped(nodes.filter((node) => node.file === file));
}

export function problemsByLine(
  problems: readonly TreeProblem[],
  file: string,
): ReadonlyMap<number, readonly TreeProblem[]> {
  return grouped(problems.filter((problem) => isOf(problem, file)));
}

/** Whether a problem is one of this file. Where none is named, it is the one that was looked at. */
export function isOf(problem: TreeProblem, file: string): boolean {
  return problem.file === null || treeIn(problem.file) === treeIn(file);
}

/** Which node a click on a line means: the first, and with each further click the next. */
export function nextOnLine(onLine: readonly TreeNode[], selected: number | null): TreeNode | undefined {
  const at = onLine.findIndex((node) => node.index === selected);
  return onLine[(at + 1) % Math.max(onLine.length, 1)];
}

function grouped<One extends { line: number | null }>(all: readonly One[]): Map<number, One[]> {
  const lines = new Map<number, One[]>();
  for (const one of all) {
    if (one.line === null) continue;
    const there = lines.get(one.line);
    if (there === undefined) lines.set(one.line, [one]);
    else there.push(one);
  }
  return lines;
}
