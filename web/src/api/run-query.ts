import { queryOptions } from "@tanstack/react-query";
import { api, given } from "./client";

/** One run with all its figures, as the server has them. */
export function runQuery(runId: string) {
  return queryOptions({
    queryKey: ["run", runId] as const,
    queryFn: ({ signal }) =>
      given(api.GET("/api/runs/{run_id}", { params: { path: { run_id: runId } }, signal })),
  });
}
