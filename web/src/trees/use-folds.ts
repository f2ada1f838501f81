import { useCallback, useState } from "react";
import type { Statuses } from "@/stream/statuses";
import { type Folded, foldedToDone, foldedToFit, shownTo, toggled } from "./folding";
import type { TreeNode } from "./tree-shapes";

export type Folds = {
  folded: Folded;
  toggle: (index: number) => void;
  openAll: () => void;
  /** Folds it as it was folded at first, in the light of what is known now. */
  foldAgain: () => void;
  againWords: string;
  /** Opens what hides a node. */
  show: (index: number) => void;
};

/** What is folded away: at first what there is no room for, or, in a run, what had no part in it.
 * Another tree (another `name`) begins anew; the same one, changed, stays as it was. */
export function useFolds(
  nodes: readonly TreeNode[],
  name: string,
  statuses: Statuses | null,
  selected: number | null,
): Folds {
  const fold = () => (statuses === null ? foldedToFit(nodes) : foldedToDone(nodes, statuses));
  const first = () => {
    // A run that has just begun has done nothing yet; it is all open, to be watched.
    const folded = statuses !== null && Object.keys(statuses).length === 0 ? new Set<number>() : fold();
    return {
      name,
      isEmpty: nodes.length === 0,
      folded: selected === null ? folded : shownTo(nodes, folded, selected),
    };
  };
  const [kept, setKept] = useState(first);
  let now = kept;
  if (kept.name !== name || (kept.isEmpty && nodes.length > 0)) {
    now = first();
    setKept(now);
  }
  const change = useCallback(
    (by: (folded: Folded) => Folded) =>
      setKept((before) => {
        const folded = by(before.folded);
        return folded === before.folded ? before : { ...before, folded };
      }),
    [],
  );
  return {
    folded: now.folded,
    toggle: useCallback((index: number) => change((folded) => toggled(folded, index)), [change]),
    openAll: useCallback(() => change(() => new Set()), [change]),
    foldAgain: () => change(fold),
    againWords: statuses === null ? "Fold, so that it fits" : "Fold what had no part in it",
    show: useCallback((index: number) => change((folded) => shownTo(nodes, folded, index)), [change, nodes]),
  };
}
