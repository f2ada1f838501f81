/** Coding sessions, as the server has them, and what can be done with them. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { api, given, type Schemas } from "@/api/client";
import { runQuery } from "@/api/run-query";
import { useAnswer } from "@/chat/exchange/exchange-queries";
import { useRunPart } from "@/chat/run-queries";
import { followerOf } from "@/stream/use-run";
import { usePaced } from "@/ui/use-paced";

const LIVE_MS = 1_500;
const WAITING_MS = 5_000;
/** However fast a run tells of itself, it is not read again more often than this. */
const PACE_MS = 600;
const ASKED_AGAIN_MS = 6_000;

const SESSIONS = ["runs", "coding"] as const;
const sessionKey = (runId: string) => ["run", runId, "coding"] as const;

export function useSessions() {
  return useQuery({
    queryKey: SESSIONS,
    queryFn: ({ signal }) => given(api.GET("/api/coding", { signal })),
    refetchInterval: ({ state }) =>
      state.data?.some((one) => one.run_phase !== "ENDED") ? WAITING_MS : false,
  });
}

/** What a session can be begun with here: the configured model, the repositories that are served. */
export function useOffer() {
  return useQuery({
    queryKey: ["coding-offer"],
    queryFn: ({ signal }) => given(api.GET("/api/coding/offer", { signal })),
    staleTime: 60_000,
  });
}

export function useExamples() {
  return useQuery({
    queryKey: ["coding-examples"],
    queryFn: ({ signal }) => given(api.GET("/api/coding/examples", { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function useCodingSession(runId: string) {
  return useQuery({
    queryKey: sessionKey(runId),
    queryFn: ({ signal }) =>
      given(api.GET("/api/coding/{run_id}", { params: { path: { run_id: runId } }, signal })),
    refetchInterval: ({ state: { data } }) => {
      if (data === undefined || data.run_phase === "ENDED") return false;
      return data.run_phase === "RUNNING" ? LIVE_MS : WAITING_MS;
    },
  });
}

/** The run of a session: its meters, whether it waits, whether anybody works on it. */
export function useSessionRun(runId: string) {
  return useQuery({
    ...runQuery(runId),
    refetchInterval: ({ state: { data } }) => {
      if (data === undefined || data.phase === "ENDED") return false;
      return data.phase === "RUNNING" ? LIVE_MS : WAITING_MS;
    },
  });
}

/** Facts of a session make no chunks: whenever its run tells of anything, or pauses, or ends, it is read again. */
export function useFresh(runId: string, phase: string | undefined): void {
  const queries = useQueryClient();
  const pulse = useRunPart(
    runId,
    ({ state }) => `${state.parts.length} ${state.used.model_calls} ${state.ending?.outcome ?? ""}`,
  );
  const paced = usePaced(pulse, PACE_MS);
  const before = useRef(paced);
  useEffect(() => {
    if (before.current === paced) return;
    before.current = paced;
    for (const queryKey of [sessionKey(runId), ["run", runId]]) {
      void queries.invalidateQueries({ queryKey, exact: true });
    }
  }, [queries, runId, paced]);
  useFollowOn(runId, phase);
}

/** Somebody let it go on elsewhere: in another tab, among the reviews, from a terminal. */
function useFollowOn(runId: string, phase: string | undefined): void {
  const before = useRef(phase);
  useEffect(() => {
    const hasGoneOn = before.current !== undefined && before.current !== "RUNNING" && phase === "RUNNING";
    before.current = phase;
    if (hasGoneOn && followerOf(runId).read().link === "over") followerOf(runId).again();
  }, [runId, phase]);
}

/**
 * Answers what a session asks. Until the session tells that it goes on, which takes a moment, nothing can be sent
 * again; after that it can, for an agent may ask the very same once more.
 */
export function useAnswering(runId: string) {
  const { mutate, variables, isPending, isSuccess, isError, error, reset } = useAnswer(runId);
  useEffect(() => {
    if (!isSuccess) return;
    const timer = window.setTimeout(reset, ASKED_AGAIN_MS);
    return () => window.clearTimeout(timer);
  }, [isSuccess, reset]);
  const isUnderWay = isPending || isSuccess;
  return { send: mutate, sent: variables, isUnderWay, isError, error };
}

/** The lines that a round changed, or all of the session's. Read when somebody wants to see them. */
export function useDiff(runId: string, round: number | null, commit: string | null, isWanted: boolean) {
  return useQuery({
    queryKey: ["coding-diff", runId, round, commit],
    queryFn: ({ signal }) => {
      const params = { path: { run_id: runId }, query: { ...(round !== null && { round }) } };
      return given(api.GET("/api/coding/{run_id}/diff", { params, signal }));
    },
    enabled: isWanted,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Look at everything a session needs. Nothing is started by it. */
export function usePropose() {
  return useMutation({
    mutationFn: (wanted: Schemas["Propose"]) => given(api.POST("/api/coding/proposal", { body: wanted })),
  });
}

export function useBegin(onBegun: (runId: string) => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (begin: Schemas["Begin"]) => given(api.POST("/api/coding", { body: begin })),
    onSuccess: ({ run_id }) => {
      void queries.invalidateQueries({ queryKey: ["runs"] });
      onBegun(run_id);
    },
  });
}

export function useAccept(runId: string) {
  const readAgain = useReadSessionAgain(runId);
  return useMutation({
    mutationFn: (how: "merge" | "patch") =>
      given(api.POST("/api/coding/{run_id}/accept", { params: { path: { run_id: runId } }, body: { how } })),
    onSettled: readAgain,
  });
}

export function useDiscard(runId: string) {
  const readAgain = useReadSessionAgain(runId);
  return useMutation({
    mutationFn: () =>
      given(api.POST("/api/coding/{run_id}/discard", { params: { path: { run_id: runId } } })),
    onSettled: readAgain,
  });
}

export function useRestore(runId: string) {
  const readAgain = useReadSessionAgain(runId);
  return useMutation({
    mutationFn: (round: number) =>
      given(
        api.POST("/api/coding/{run_id}/restore", { params: { path: { run_id: runId } }, body: { round } }),
      ),
    onSettled: readAgain,
  });
}

/** Whatever came of it, what is shown is read anew: it may have been done from a terminal before. */
function useReadSessionAgain(runId: string): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await Promise.all(
      [sessionKey(runId), SESSIONS, ["coding-diff", runId]].map((queryKey) =>
        queries.invalidateQueries({ queryKey }),
      ),
    );
  };
}
