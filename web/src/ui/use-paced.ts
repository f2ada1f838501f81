import { useEffect, useReducer, useRef } from "react";

/** A value that changes often, given on at most once in so many milliseconds; the last one always comes. */
export function usePaced<Value>(value: Value, everyMs: number): Value {
  const shown = useRef(value);
  const shownAt = useRef(0);
  const [, lookAgain] = useReducer((times: number) => times + 1, 0);
  const now = performance.now();
  if (everyMs === 0 || now - shownAt.current >= everyMs) {
    shown.current = value;
    shownAt.current = now;
  }
  const isBehind = shown.current !== value;
  useEffect(() => {
    if (!isBehind) return;
    const timer = window.setTimeout(lookAgain, Math.max(0, shownAt.current + everyMs - performance.now()));
    return () => window.clearTimeout(timer);
  });
  return shown.current;
}
