/** How nodes of a tree stand in a run, in words, signs and colours. Pure.
 *
 * That a branch fails is how a tree chooses: the next one is tried. Only work that failed is shown as trouble. */
import type { Statuses } from "@/stream/statuses";
import type { TreeNode } from "./tree-shapes";

export type Sign = "running" | "success" | "failure" | "trouble" | "halted" | "none";
export type Standing = { sign: Sign; word: string; isNow: boolean };

/** Nodes are noted when their turn ends: until then nobody knows whether one was reached. */
export function wordForNothing(isTurnOpen: boolean): string {
  return isTurnOpen ? "not noted yet" : "not reached";
}

export function standingOfNode(
  node: TreeNode,
  status: string | undefined,
  isNow: boolean,
  isTurnOpen = false,
): Standing {
  if (isNow) return { sign: "running", word: "running now", isNow };
  const isQuestion = node.kind === "condition";
  switch (status) {
    case "running":
      return { sign: "running", word: "goes on", isNow };
    case "success":
      return { sign: "success", word: isQuestion ? "yes" : "succeeded", isNow };
    case "failure":
      if (isQuestion) return { sign: "failure", word: "no", isNow };
      return isWork(node)
        ? { sign: "trouble", word: "failed", isNow }
        : { sign: "failure", word: "did not succeed", isNow };
    case "halted":
      return { sign: "halted", word: "halted", isNow };
    case undefined:
      return { sign: "none", word: wordForNothing(isTurnOpen), isNow };
    default:
      return { sign: "none", word: status, isNow };
  }
}

/** Standings of all nodes. Those on the path are running now, whatever was noted of them before. */
export function standingsOf(
  nodes: readonly TreeNode[],
  statuses: Statuses,
  path: readonly number[],
  isTurnOpen = false,
): ReadonlyMap<number, Standing> {
  const now = new Set(path);
  return new Map(
    nodes.map((node) => [
      node.index,
      standingOfNode(node, statuses[node.index], now.has(node.index), isTurnOpen),
    ]),
  );
}

function isWork(node: TreeNode): boolean {
  return node.kind === "action" || node.kind === "llm_call" || node.kind === "tool_call";
}
