import { useCallback } from "react";
import type { Statuses } from "@/stream/statuses";
import type { TreeNode } from "./tree-shapes";
import { type Folds, useFolds } from "./use-folds";
import { usePlace } from "./use-place";

export type Selection = { folds: Folds; selected: TreeNode | null; select: (index: number) => void };

/** The selected node, and what is folded: a node that gets selected can be seen. */
export function useSelection(nodes: readonly TreeNode[], name: string, statuses: Statuses | null): Selection {
  const { selected, select: keep } = usePlace();
  const folds = useFolds(nodes, name, statuses, selected);
  const { show } = folds;
  const select = useCallback(
    (index: number) => {
      show(index);
      keep(index);
    },
    [show, keep],
  );
  return { folds, selected: selected === null ? null : (nodes[selected] ?? null), select };
}
