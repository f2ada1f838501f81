import { useCallback, useSyncExternalStore } from "react";

/** Whether the window is as a media query says. Where that cannot be known, as if it were `otherwise`. */
export function useMatches(query: string, otherwise: boolean): boolean {
  const subscribe = useCallback(
    (listener: () => void) => {
      const asked = window.matchMedia?.(query);
      asked?.addEventListener("change", listener);
      return () => asked?.removeEventListener("change", listener);
    },
    [query],
  );
  return useSyncExternalStore(subscribe, () => window.matchMedia?.(query).matches ?? otherwise);
}
