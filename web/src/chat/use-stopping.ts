import { useCallback, useEffect, useState } from "react";
import { useCancel } from "@/stream/run-actions";
import type { Stopping } from "./stop-button";

/** Whoever was asked to stop may have died before it heard: it is asked again as long as the run goes on. */
const ASK_AGAIN_MS = 5_000;

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

  useEffect(() => {
    if (stopping === "no") return;
    const again = () => mutate({ afterTurn: stopping === "after_turn" });
    const timer = window.setInterval(again, ASK_AGAIN_MS);
    return () => window.clearInterval(timer);
  }, [stopping, mutate]);

  return { stopping, stop, problem: isUnderWay ? cancel.error : null };
}

/** A dialog or a menu is open: keys are meant for that. */
export function isSomethingOpen(): boolean {
  return document.querySelector('[role="dialog"], [role="menu"]') !== null;
}
