/** What a person can do with a run from within the chat. Whatever came of it, the run is looked at again. */
import { useMutation } from "@tanstack/react-query";
import { api, given, type Schemas } from "@/api/client";
import { useLookAgain } from "@/stream/run-actions";

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
    onSuccess: () => void lookAgain(),
  });
}

export function useAnswer(runId: string) {
  const lookAgain = useLookAgain(runId);
  return useMutation({
    mutationFn: (answer: string) =>
      given(api.POST("/api/runs/{run_id}/answer", { params: { path: { run_id: runId } }, body: { answer } })),
    onSuccess: () => void lookAgain(),
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
    onSuccess: () => void lookAgain(),
  });
}
