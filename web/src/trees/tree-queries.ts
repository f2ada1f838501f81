/** Trees, as the server has them: the files, what a run keeps, what came of a text that was looked at. */
import { keepPreviousData, type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, given } from "@/api/client";
import { asProblem } from "@/api/problem";
import { lastSeq, type Trace, tracesIn } from "./traces";

const FACTS_EACH = 1_000;
const LIVE_MS = 2_000;

export function useTrees() {
  return useQuery({
    queryKey: ["trees"],
    queryFn: ({ signal }) => given(api.GET("/api/trees", { signal })),
  });
}

/** One tree. Null for none: then nothing is asked. */
export function useTree(name: string | null) {
  return useQuery({
    queryKey: ["tree", name],
    queryFn: ({ signal }) =>
      given(api.GET("/api/trees/{name}", { params: { path: { name: name ?? "" } }, signal })),
    enabled: name !== null,
  });
}

/** The tree that a run keeps. One that has just begun has none yet: it is asked again while it goes on. */
export function useRunTree(runId: string | null, isOver: boolean) {
  return useQuery({
    queryKey: ["run", runId, "tree"],
    queryFn: ({ signal }) =>
      given(api.GET("/api/runs/{run_id}/tree", { params: { path: { run_id: runId ?? "" } }, signal })),
    enabled: runId !== null,
    refetchInterval: ({ state }) =>
      state.data === undefined && asProblem(state.error).status === 404 && !isOver ? LIVE_MS : false,
  });
}

type Traced = { traces: readonly Trace[]; after: number };

/** What the nodes of a run's tree did. The record is long, so it is read only if wanted, and only once. */
export function useTraces(runId: string | null, isWanted: boolean, isOver: boolean) {
  const queries = useQueryClient();
  return useQuery({
    queryKey: ["run", runId, "traces"],
    queryFn: ({ signal }) => readOn(queries, runId ?? "", signal),
    enabled: isWanted && runId !== null,
    refetchInterval: isOver ? false : LIVE_MS,
  });
}

async function readOn(queries: QueryClient, runId: string, signal: AbortSignal): Promise<Traced> {
  const before = queries.getQueryData<Traced>(["run", runId, "traces"]);
  const traces = [...(before?.traces ?? [])];
  let after = before?.after ?? -1;
  for (;;) {
    const params = { path: { run_id: runId }, query: { after, limit: FACTS_EACH } };
    const page = await given(api.GET("/api/runs/{run_id}/facts", { params, signal }));
    traces.push(...tracesIn(page.facts));
    after = page.next_after ?? lastSeq(page.facts) ?? after;
    if (page.next_after === null) return { traces, after };
  }
}

/** What is wrong with a text, or else the tree that it is. Nothing is saved by it. */
export function useTreeCheck(name: string, text: string | null) {
  return useQuery({
    queryKey: ["tree", name, "check", text],
    queryFn: ({ signal }) =>
      given(api.POST("/api/trees/check", { body: { name, text: text ?? "" }, signal })),
    enabled: text !== null,
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    gcTime: 60_000,
  });
}
