import { useSyncExternalStore } from "react";

const narrow = typeof window.matchMedia === "function" ? window.matchMedia("(max-width: 40rem)") : null;

function subscribe(listener: () => void): () => void {
  narrow?.addEventListener("change", listener);
  return () => narrow?.removeEventListener("change", listener);
}

/** Whether there is no room for a drawing: the tree is then shown as a list at first. */
export function useIsNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => narrow?.matches ?? false);
}
