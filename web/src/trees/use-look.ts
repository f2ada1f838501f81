/** Where the drawing is looked at: first view, following what runs, bringing a card into view, the arrow keys. */
import { useReactFlow } from "@xyflow/react";
import { type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { moved } from "./folding";
import { CARD, firstView, isInView, type Layout } from "./layout";
import type { TreeNode } from "./tree-shapes";
import type { Folds } from "./use-folds";

type Looking = {
  frame: RefObject<HTMLDivElement | null>;
  name: string;
  nodes: readonly TreeNode[];
  layout: Layout;
  folds: Folds;
  selected: number | null;
  /** The card that shows what is running now. */
  running: number | null;
  onSelect: (index: number) => void;
};

export type Look = ReturnType<typeof useLook>;

export function useLook({ frame, name, nodes, layout, folds, selected, running, onSelect }: Looking) {
  const flow = useReactFlow();
  const [isFollowing, setFollowing] = useState(true);
  const [isReady, setReady] = useState(false);
  const focusOn = useRef<number | null>(null);
  const isRefitting = useRef(false);
  const now = useRef({ layout, nodes, folds, selected, running, onSelect });
  useLayoutEffect(() => {
    now.current = { layout, nodes, folds, selected, running, onSelect };
  });

  const sizeOf = useCallback(
    () => ({ width: frame.current?.clientWidth ?? 1, height: frame.current?.clientHeight ?? 1 }),
    [frame],
  );
  const lookAnew = useCallback(() => {
    const { layout, selected, running } = now.current;
    void flow.setViewport(firstView(layout, sizeOf(), running ?? selected ?? 0));
  }, [flow, sizeOf]);
  const centre = useCallback(
    (index: number) => {
      const spot = now.current.layout.spots.get(index);
      if (spot === undefined) return;
      const zoom = Math.max(flow.getZoom(), 0.8);
      const duration = isCalm() ? 0 : 300;
      void flow.setCenter(spot.x + CARD.width / 2, spot.y + CARD.height / 2, { zoom, duration });
    },
    [flow],
  );
  const reveal = useCallback(
    (index: number) => {
      const spot = now.current.layout.spots.get(index);
      if (spot !== undefined && !isInView(spot, sizeOf(), flow.getViewport())) centre(index);
    },
    [flow, sizeOf, centre],
  );

  const begin = useCallback(() => {
    lookAnew();
    setReady(true);
  }, [lookAnew]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tree is looked at anew, and only that
  useEffect(() => {
    if (isReady) lookAnew();
  }, [name]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the new layout that is looked at anew
  useLayoutEffect(() => {
    if (!isRefitting.current) return;
    isRefitting.current = false;
    lookAnew();
  }, [layout, lookAnew]);
  useEffect(() => {
    if (isReady && isFollowing && running !== null) reveal(running);
  }, [isReady, isFollowing, running, reveal]);
  useEffect(() => {
    if (isReady && selected !== null) reveal(selected);
  }, [isReady, selected, reveal]);

  const actions = useMemo(() => {
    const toggle = (index: number) => now.current.folds.toggle(index);
    return {
      toggle,
      reveal,
      select: (index: number) => now.current.onSelect(index),
      takesFocus: (index: number) => {
        const takes = focusOn.current === index;
        if (takes) focusOn.current = null;
        return takes;
      },
      press: (index: number, key: string) => {
        const move = moved(now.current.nodes, now.current.folds.folded, index, key);
        if (move === null) return false;
        if ("toggle" in move) toggle(move.toggle);
        else {
          focusOn.current = move.to;
          now.current.onSelect(move.to);
        }
        return true;
      },
    };
  }, [reveal]);

  return {
    actions,
    begin,
    isFollowing,
    setFollowing,
    zoom: (by: "in" | "out") => void (by === "in" ? flow.zoomIn() : flow.zoomOut()),
    fit: () => void flow.fitView({ padding: 0.05, duration: isCalm() ? 0 : 200 }),
    foldAgain: () => {
      isRefitting.current = true;
      folds.foldAgain();
    },
  };
}

function isCalm(): boolean {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}
