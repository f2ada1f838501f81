import { useEffect, useRef } from "react";
import type { Schemas } from "@/api/client";
import type { Following } from "@/stream/follower";
import { followerOf, useRunWhen } from "@/stream/use-run";

const PHASE_OF_PAUSE: Record<string, Schemas["RunPhase"]> = {
  under_review: "BUDGET_REVIEW",
  awaiting_user: "AWAIT_USER",
};

/** The stream of an exchange, once somebody wants it, and from then on: what is shown is not taken away. */
export function useFollow(exchange: Schemas["Exchange"], isWanted: boolean): Following | null {
  const wasWanted = useRef(false);
  if (isWanted) wasWanted.current = true;
  const following = useRunWhen(wasWanted.current, exchange.run_id);
  const isOver = following?.link === "over" && following.problem === null;
  const pause = isOver ? PHASE_OF_PAUSE[following.state.ending?.outcome ?? ""] : undefined;
  const before = useRef(exchange.phase);
  useEffect(() => {
    const hasChanged = before.current !== exchange.phase;
    before.current = exchange.phase;
    // Somebody let it go on elsewhere: in another tab, among the reviews, from a terminal.
    if (hasChanged && pause !== undefined && pause !== exchange.phase) followerOf(exchange.run_id).again();
  }, [exchange.phase, exchange.run_id, pause]);
  return following;
}
