/** Small texts that outlive a reload, and end with the tab: drafts, the chosen model. */
import { useCallback, useSyncExternalStore } from "react";

const PREFIX = "endstop.chat.";
const texts = new Map<string, string>();
const listeners = new Set<() => void>();

export function kept(place: string): string {
  const known = texts.get(place);
  if (known !== undefined) return known;
  const found = stored(place);
  texts.set(place, found);
  return found;
}

export function keep(place: string, text: string): void {
  texts.set(place, text);
  try {
    if (text === "") window.sessionStorage.removeItem(PREFIX + place);
    else window.sessionStorage.setItem(PREFIX + place, text);
  } catch {
    // Full, or forbidden: then it lives as long as the page does.
  }
  for (const listener of listeners) listener();
}

function stored(place: string): string {
  try {
    return window.sessionStorage.getItem(PREFIX + place) ?? "";
  } catch {
    return "";
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useKept(place: string): [string, (text: string) => void] {
  const text = useSyncExternalStore(subscribe, () => kept(place));
  const set = useCallback((next: string) => keep(place, next), [place]);
  return [text, set];
}

/** Where the draft of a conversation is kept; null for the one that does not exist yet. */
export function draftOf(conversationId: string | null): string {
  return `draft.${conversationId ?? "new"}`;
}

/** The model that the next question is for; empty for the configured one. */
export const MODEL = "model";
