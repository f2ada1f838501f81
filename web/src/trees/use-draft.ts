import { useState } from "react";
import { useSettled } from "@/ui/use-settled";
import { useTreeCheck } from "./tree-queries";
import type { TreeBound, TreeNode, TreeProblem, TreeShown } from "./tree-shapes";

const SETTLED_MS = 400;
const NO_PROBLEMS: readonly TreeProblem[] = [];

export type Draft = {
  text: string;
  change: (text: string) => void;
  startOver: () => void;
  isChecking: boolean;
  error: Error | null;
  checkAgain: () => void;
  problems: readonly TreeProblem[];
  /** Those of the last text that was a tree, and whether that is the text as it stands. */
  nodes: readonly TreeNode[];
  bound: TreeBound | null;
  isShown: boolean;
};

type Good = { nodes: readonly TreeNode[]; bound: TreeBound | null };

/** A text that is being tried. It lives in this view and nowhere else. */
export function useDraft(tree: TreeShown, isOpen: boolean): Draft {
  const [typed, change] = useState<string | null>(null);
  const text = typed ?? tree.source;
  const settled = useSettled(text, SETTLED_MS);
  const check = useTreeCheck(tree.name, isOpen ? settled : null);
  const [good, setGood] = useState<Good | null>(null);
  const found = check.data;
  const isGood = found !== undefined && found.problems.length === 0;
  if (isGood && found.nodes !== good?.nodes) setGood({ nodes: found.nodes, bound: found.bound });
  return {
    text,
    change,
    startOver: () => change(null),
    isChecking: text !== settled || check.isFetching,
    error: check.error,
    checkAgain: () => void check.refetch(),
    problems: check.isError ? NO_PROBLEMS : (found?.problems ?? NO_PROBLEMS),
    nodes: (good ?? tree).nodes,
    bound: (good ?? tree).bound,
    isShown: isGood || found === undefined,
  };
}
