import { useMutation, useQuery } from "@tanstack/react-query";
import { api, given, type Schemas } from "@/api/client";
import { runQuery } from "@/api/run-query";
import { useLookAgain } from "@/stream/run-actions";

export const REVIEWS = ["reviews"] as const;

export type Review = Schemas["ReviewShape"];
export type Decision = Schemas["Decide"];

const LOOK_AGAIN_MS = 15_000;
/** Those that wait come first, so that none of them is cut off. */
export const MOST_SHOWN = 200;

const list = {
  queryKey: REVIEWS,
  queryFn: () => given(api.GET("/api/reviews", { params: { query: { limit: MOST_SHOWN } } })),
  // Notifications tell sooner; this is for when they do not come through, and for what others decide.
  refetchInterval: LOOK_AGAIN_MS,
};

/** Your reviews: those that wait first, then the decided ones, newest first. */
export function useReviews() {
  return useQuery(list);
}

/** How many wait for a decision; 0 while that is not known. */
export function useOpenReviewCount(): number {
  const { data } = useQuery({ ...list, select: countOpen });
  return data ?? 0;
}

function countOpen(reviews: readonly Review[]): number {
  return reviews.filter((one) => one.decision === null).length;
}

/** One review that the list is too short for. */
export function useReview(runId: string, reviewId: string, isWanted: boolean) {
  return useQuery({
    queryKey: [...REVIEWS, runId, reviewId],
    queryFn: () =>
      given(
        api.GET("/api/reviews/{run_id}/{review_id}", {
          params: { path: { run_id: runId, review_id: reviewId } },
        }),
      ),
    enabled: isWanted,
  });
}

/** The run that waits, for what it has used of its limits. */
export function useReviewedRun(runId: string) {
  return useQuery(runQuery(runId));
}

/** Decide a review. Whatever came of it, what is shown is read anew: somebody else may have been first. */
export function useDecide(review: Review, onDecided: (decided: Schemas["Decided"]) => void) {
  const { run_id, review_id } = review;
  const lookAgain = useLookAgain(run_id);
  return useMutation({
    mutationFn: (decision: Decision) =>
      given(
        api.POST("/api/reviews/{run_id}/{review_id}/decide", {
          params: { path: { run_id, review_id } },
          body: decision,
        }),
      ),
    onSuccess: onDecided,
    onSettled: lookAgain,
  });
}
