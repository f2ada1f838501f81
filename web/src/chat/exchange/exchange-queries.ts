/** What a person can do with a run from within the chat. Whatever came of it, the run is looked at again. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, given, type Schemas } from "@/api/client";
import { followerOf } from "@/stream/use-run";

function useLookAgain(runId: string): () => void {
  const queries = useQueryClient();
  return () => {
    followerOf(runId).again();
    for (const queryKey of [["reviews"], ["run", runId], ["runs"], ["conversation"]]) {
      void queries.invalidateQueries({ queryKey });
    }
  };
}

/** Go on: with a grant if it waits for one, without if nobody works on it any more. */
export function useContinue(runId: string) {
  const lookAgain = useLookAgain(runId);
  return useMutation({
    mutationFn: (grant: Schemas["GrantGiven"] | null) =>
      given(
        api.POST("/api/runs/{run_id}/resume", {
          params: { path: { run_id: runId } },
          body: grant === null ? {} : { grant },
        }),
      ),
    onSuccess: lookAgain,
  });
}

export function useAnswer(runId: string) {
  const lookAgain = useLookAgain(runId);
  return useMutation({
    mutationFn: (answer: string) =>
      given(api.POST("/api/runs/{run_id}/answer", { params: { path: { run_id: runId } }, body: { answer } })),
    onSuccess: lookAgain,
  });
}

/** Leave it at what there is: the review is rejected, and the run ends with its work saved. */
export function useEndHere(runId: string) {
  const lookAgain = useLookAgain(runId);
  return useMutation({
    mutationFn: (reviewId: string) =>
      given(
        api.POST("/api/reviews/{run_id}/{review_id}/decide", {
          params: { path: { run_id: runId, review_id: reviewId } },
          body: { decision: "rejected", why: "ended in the chat" },
        }),
      ),
    onSuccess: lookAgain,
  });
}
