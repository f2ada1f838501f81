/** The run that a chat waits for: its figures, and how it stands. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useSyncExternalStore } from "react";
import { runQuery } from "@/api/run-query";
import type { Following } from "@/stream/follower";
import { NOTHING_YET } from "@/stream/run-state";
import { followerOf } from "@/stream/use-run";
import { CONVERSATIONS, conversationKey, type ExchangeShape } from "./conversation-queries";

const LOOK_AGAIN_MS = 10_000;
const NO_RUN: Following = { state: NOTHING_YET, link: "over", problem: null };

/** The server's figures of a run; looked at again now and then while it runs, for its process may die. */
export function useFigures(runId: string | null) {
  return useQuery({
    ...runQuery(runId ?? ""),
    enabled: runId !== null,
    refetchInterval: ({ state }) => (state.data?.phase === "RUNNING" ? LOOK_AGAIN_MS : false),
  });
}

/** One plain value of what a run's stream tells: whoever asks is drawn anew only when that value changes. */
export function useRunPart<Part extends string | number | boolean | null>(
  runId: string | null,
  pick: (following: Following) => Part,
): Part {
  const subscribe = useCallback(
    (listener: () => void) => (runId === null ? () => undefined : followerOf(runId).subscribe(listener)),
    [runId],
  );
  return useSyncExternalStore(subscribe, () => pick(runId === null ? NO_RUN : followerOf(runId).read()));
}

/** Whether the last question of a conversation is still being answered. */
export function useIsUnderWay(conversationId: string | null, last: ExchangeShape | null): boolean {
  const runId = last?.run_id ?? null;
  const hasEnded = useRunPart(runId, ({ state }) => state.ending !== null);
  const isRefused = useRunPart(runId, ({ problem }) => problem !== null);
  const isLeftOpen = useFigures(runId).data?.is_left_open ?? false;
  useFreshAfter(conversationId, runId, hasEnded);
  return last?.phase === "RUNNING" && !hasEnded && !isRefused && !isLeftOpen;
}

/** When a run ends, pauses or goes on, what lists and figures say of it has changed. */
function useFreshAfter(conversationId: string | null, runId: string | null, hasEnded: boolean): void {
  const queries = useQueryClient();
  const before = useRef({ runId, hasEnded });
  useEffect(() => {
    const isNew = before.current.runId !== runId;
    const isSame = before.current.hasEnded === hasEnded;
    before.current = { runId, hasEnded };
    if (isNew || isSame) return;
    for (const queryKey of [conversationKey(conversationId), CONVERSATIONS, ["run", runId], ["runs"]]) {
      void queries.invalidateQueries({ queryKey });
    }
  }, [queries, conversationId, runId, hasEnded]);
}
