/** Colours for code, loaded when there is the first code to show. */
import { useEffect, useSyncExternalStore } from "react";
import type { Options } from "react-markdown";

type Plugins = NonNullable<Options["rehypePlugins"]>;

const NONE: Plugins = [];
const listeners = new Set<() => void>();
let loaded: Plugins = NONE;
let isLoading = false;

async function load(): Promise<void> {
  if (isLoading) return;
  isLoading = true;
  try {
    const { default: rehypeHighlight } = await import("rehype-highlight");
    const highlight = rehypeHighlight(); // once: it sets up all its languages
    loaded = [() => highlight];
    for (const listener of listeners) listener();
  } catch {
    isLoading = false; // code without colours is code all the same; the next block tries again
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** What colours the code of a block, as soon as it is there. */
export function useHighlighter(isWanted: boolean): Plugins {
  useEffect(() => {
    if (isWanted) void load();
  }, [isWanted]);
  const plugins = useSyncExternalStore(subscribe, () => loaded);
  return isWanted ? plugins : NONE;
}
