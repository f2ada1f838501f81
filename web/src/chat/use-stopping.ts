import { useCallback, useEffect, useState } from "react";
import { useCancel } from "@/stream/run-actions";
import type { Stopping } from "./stop-button";

/** Stopping the run under way: by the button, or with Esc from wherever one is. */
export function useStopping(runId: string | null, isUnderWay: boolean) {
  const cancel = useCancel(runId);
  const [asked, setAsked] = useState<{ runId: string | null; stopping: Stopping }>({ runId, stopping: "no" });
  const stopping = asked.runId === runId && isUnderWay ? asked.stopping : "no";
  const { mutate } = cancel;

  const stop = useCallback(
    (afterTurn: boolean) => {
      setAsked({ runId, stopping: afterTurn ? "after_turn" : "now" });
      mutate({ afterTurn }, { onError: () => setAsked({ runId, stopping: "no" }) });
    },
    [runId, mutate],
  );

  useEffect(() => {
    if (!isUnderWay || stopping === "now") return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || event.isComposing || isSomethingOpen()) return;
      event.preventDefault();
      stop(false);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [isUnderWay, stopping, stop]);

  return { stopping, stop, problem: isUnderWay ? cancel.error : null };
}

/** A dialog or a menu is open: keys are meant for that. */
export function isSomethingOpen(): boolean {
  return document.querySelector('[role="dialog"], [role="menu"]') !== null;
}
