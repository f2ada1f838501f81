/** Where one is in a tree: kept in the address, so that it can be sent to somebody. */
import { useCallback } from "react";
import { useSearchParams } from "react-router";

export type Place = {
  runId: string | null;
  /** The index of the selected node. */
  selected: number | null;
  /** The turn that is looked at, counted from 1; null for what is now. */
  turn: number | null;
  select: (index: number | null) => void;
  lookAt: (turn: number | null) => void;
};

export function usePlace(): Place {
  const [asked, setAsked] = useSearchParams();
  const set = useCallback(
    (name: string, value: number | null) =>
      setAsked(
        (before) => {
          const after = new URLSearchParams(before);
          if (value === null) after.delete(name);
          else after.set(name, String(value));
          return after;
        },
        { replace: true },
      ),
    [setAsked],
  );
  const select = useCallback((index: number | null) => set("node", index), [set]);
  const lookAt = useCallback((turn: number | null) => set("turn", turn), [set]);
  return {
    runId: asked.get("run") || null,
    selected: wholeNumber(asked.get("node"), 0),
    turn: wholeNumber(asked.get("turn"), 1),
    select,
    lookAt,
  };
}

function wholeNumber(text: string | null, least: number): number | null {
  if (text === null || !/^\d{1,9}$/.test(text)) return null;
  const value = Number(text);
  return value < least ? null : value;
}
