/** Runs, as the server has them. One look at a run tells whether the rest of it has changed. */
import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { api, given } from "@/api/client";
import { runQuery } from "@/api/run-query";
import { useReadAgain } from "@/stream/run-actions";
import { followerOf } from "@/stream/use-run";
import type { RunFilters } from "./run-filters";
import type { RunDetail } from "./run-shapes";
import { isGoing } from "./run-words";

const PAGE = 50;
const MOST_AGENTS_FROM = 200;
const LIVE_MS = 2_000;
const WAITING_MS = 5_000;

export function useRuns(filters: RunFilters) {
  return useInfiniteQuery({
    queryKey: ["runs", filters],
    queryFn: ({ pageParam, signal }) => {
      const query = {
        limit: PAGE,
        ...(filters.phase && { phase: [filters.phase] }),
        ...(filters.ended && { ended: filters.ended }),
        ...(filters.agent && { agent: filters.agent }),
        ...(filters.text.trim() !== "" && { text: filters.text.trim() }),
        ...(pageParam !== null && { cursor: pageParam }),
      };
      return given(api.GET("/api/runs", { params: { query }, signal }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    // What is shown stays until the answer to a changed filter is there: nothing jumps.
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.pages.some((page) => page.runs.some(isGoing)) ? LIVE_MS : false,
  });
}

/** The agents of the newest runs, whatever is filtered: what one can choose from. */
export function useAgents(): string[] {
  const newest = useQuery({
    queryKey: ["runs", "agents"],
    queryFn: ({ signal }) =>
      given(api.GET("/api/runs", { params: { query: { limit: MOST_AGENTS_FROM } }, signal })),
    staleTime: 60_000,
    select: (page) => [...new Set(page.runs.map((run) => run.agent))].sort(),
  });
  return newest.data ?? [];
}

export function useRunDetail(runId: string) {
  return useQuery({
    ...runQuery(runId),
    refetchInterval: ({ state: { data } }) => {
      if (data === undefined || data.phase === "ENDED") return false;
      // A long record is read whole each time: the longer it is, the less often.
      return isGoing(data) ? Math.min(10_000, LIVE_MS + data.facts) : WAITING_MS;
    },
  });
}

/** When the record has grown, everything that is read from it is read again. */
export function useGrowth(run: RunDetail): void {
  const queries = useQueryClient();
  const seen = useRef({ facts: run.facts, phase: run.phase });
  const { run_id: runId, facts, phase } = run;
  useEffect(() => {
    if (seen.current.facts === facts && seen.current.phase === phase) return;
    seen.current = { facts, phase };
    for (const part of ["timeline", "burndown", "explain", "audit"]) {
      void queries.invalidateQueries({ queryKey: ["run", runId, part] });
    }
  }, [queries, runId, facts, phase]);
}

export function useTimeline(runId: string) {
  return useQuery({
    queryKey: ["run", runId, "timeline"],
    queryFn: ({ signal }) =>
      given(api.GET("/api/runs/{run_id}/timeline", { params: { path: { run_id: runId } }, signal })),
  });
}

export function useBurndown(runId: string) {
  return useQuery({
    queryKey: ["run", runId, "burndown"],
    queryFn: ({ signal }) =>
      given(api.GET("/api/runs/{run_id}/burndown", { params: { path: { run_id: runId } }, signal })),
  });
}

export function useExplanation(runId: string) {
  return useQuery({
    queryKey: ["run", runId, "explain"],
    queryFn: ({ signal }) =>
      given(api.GET("/api/runs/{run_id}/explain", { params: { path: { run_id: runId } }, signal })),
  });
}

export function useAudit(runId: string, isEnded: boolean) {
  return useQuery({
    queryKey: ["run", runId, "audit"],
    queryFn: ({ signal }) =>
      given(api.GET("/api/runs/{run_id}/audit", { params: { path: { run_id: runId } }, signal })),
    enabled: isEnded,
  });
}

export type GoingOn = { turns?: number; answer?: string };

export function useResume(runId: string) {
  const readAgain = useReadAgain(runId);
  return useMutation({
    mutationFn: ({ turns, answer }: GoingOn) => {
      const body = {
        ...(turns !== undefined && { grant: { turns, why: "granted on the page of the run" } }),
        ...(answer !== undefined && { answer }),
      };
      return given(api.POST("/api/runs/{run_id}/resume", { params: { path: { run_id: runId } }, body }));
    },
    onSuccess: () => followerOf(runId).again(),
    // Refused, too: it may have gone on or ended elsewhere, and what is shown is old.
    onSettled: readAgain,
  });
}
