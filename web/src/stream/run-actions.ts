/** What is done to a run from several places of the page, and how all of them hear of it. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, given } from "@/api/client";
import { followerOf } from "./use-run";

const SHOW_RUNS = [["runs"], ["reviews"], ["conversation"]] as const;

/** Has everything read again that shows a run. Its stream is left alone: while it runs, nothing is broken off. */
export function useReadAgain(runId: string): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await Promise.all(
      [...SHOW_RUNS, ["run", runId]].map((queryKey) => queries.invalidateQueries({ queryKey })),
    );
  };
}

/** The same, and its stream is followed anew: it has gone on, or ended, or somebody else was first. */
export function useLookAgain(runId: string): () => Promise<void> {
  const readAgain = useReadAgain(runId);
  return () => {
    followerOf(runId).again();
    return readAgain();
  };
}

/** Stops a run. Null for none: then nobody calls it. */
export function useCancel(runId: string | null, onSettled?: () => Promise<void>) {
  return useMutation({
    mutationKey: ["cancel", runId],
    mutationFn: ({ afterTurn }: { afterTurn: boolean }) =>
      given(
        api.POST("/api/runs/{run_id}/cancel", {
          params: { path: { run_id: runId ?? "" } },
          body: { after_turn: afterTurn },
        }),
      ),
    onSettled: () => onSettled?.(),
  });
}
