import { useSyncExternalStore } from "react";

const wide = typeof window.matchMedia === "function" ? window.matchMedia("(min-width: 64rem)") : null;

function subscribe(listener: () => void): () => void {
  wide?.addEventListener("change", listener);
  return () => wide?.removeEventListener("change", listener);
}

/** Whether there is room for a table. Only one of the two is drawn: nothing is read out twice. */
export function useIsWide(): boolean {
  return useSyncExternalStore(subscribe, () => wide?.matches ?? true);
}
