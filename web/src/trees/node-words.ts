/** A node in words. Pure. */
import type { Standing } from "./standings";
import type { TreeNode } from "./tree-shapes";

/** "reactive_sequence" → "reactive sequence". */
export function kindWords(node: TreeNode): string {
  return node.kind.replaceAll("_", " ");
}

/** Its name, or its kind where it has no name of its own. */
export function nameOf(node: TreeNode): string {
  return node.name === node.kind ? kindWords(node) : node.name;
}

/** Where there is little room: "budget.is_warning_due" → "is_warning_due". */
export function shortName(node: TreeNode): string {
  const name = nameOf(node);
  return node.parameters.fn === node.name ? (name.split(".").at(-1) ?? name) : name;
}

/** What is read out for a node: "sequence get ready, succeeded, 3 below, folded". */
export function nodeSentence(
  node: TreeNode,
  standing: Standing | null,
  below: number,
  isFolded: boolean,
): string {
  const title = node.name === node.kind ? kindWords(node) : `${kindWords(node)} ${node.name}`;
  const parts = [title];
  if (standing !== null) parts.push(standing.word);
  if (isFolded) parts.push(`${below} below, folded`);
  return parts.join(", ");
}

/** Its parameters, without those that say its name again or nothing. */
export function parametersOf(node: TreeNode): { name: string; value: string }[] {
  return Object.entries(node.parameters)
    .filter(([, value]) => value !== node.name && !isNothing(value))
    .map(([name, value]) => ({ name, value: typeof value === "string" ? value : JSON.stringify(value) }));
}

function isNothing(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** The colour of what sort of node it is; its sign says the same. */
export function groupColour(node: TreeNode): string {
  if (node.kind === "condition") return "border-l-notice-line text-notice";
  switch (node.group) {
    case "composite":
      return "border-l-accent text-accent";
    case "decorator":
      return "border-l-line-strong text-ink-soft";
    case "leaf":
      return "border-l-good text-good";
    default:
      return "border-l-line text-ink-soft";
  }
}
