import { useState } from "react";
import { useSearchParams } from "react-router";
import { Button } from "@/ui/button";
import { Page } from "@/ui/page";
import { Empty, Loading, ProblemNotice } from "@/ui/states";
import { plural } from "@/words/format";
import { DecideForm } from "./decide-form";
import { keyOf, outcomeWords, readKey } from "./decisions";
import { NewsList } from "./news-list";
import { ReviewCard } from "./review-card";
import { MOST_SHOWN, type Review, useReview, useReviews } from "./review-queries";
import { useNews } from "./use-news";

export function Component() {
  const reviews = useReviews();
  return (
    <Page
      title="Reviews"
      lead="Runs that met a limit and wait for you. Nothing is lost, and nothing is spent, while they wait."
    >
      {reviews.isPending && <Loading what="Reading the reviews" />}
      {reviews.isError && (
        <ProblemNotice error={reviews.error} onRetry={() => void reviews.refetch()} className="mb-4" />
      )}
      {reviews.data && <Reviews reviews={reviews.data} />}
    </Page>
  );
}

function Reviews({ reviews }: { reviews: readonly Review[] }) {
  const [params] = useSearchParams();
  const wanted = readKey(params.get("review"));
  const wantedKey = wanted === null ? null : params.get("review");
  const { news, place, tell, dismiss } = useNews(reviews);
  const open = reviews.filter((one) => one.decision === null);
  const decided = reviews.filter((one) => one.decision !== null);
  const isListed = reviews.some((one) => keyOf(one) === wantedKey);
  return (
    <div className="max-w-4xl">
      <NewsList news={news} place={place} onDismiss={dismiss} />
      <div className="space-y-4">
        {wanted !== null && !isListed && <Unlisted runId={wanted.runId} reviewId={wanted.reviewId} />}
        {open.length === 0 ? (
          <Empty title="Nothing waits for you">
            <p>A run that meets a hard limit, and is set to ask, stops here until somebody decides.</p>
          </Empty>
        ) : (
          <section aria-label="Reviews that wait" className="space-y-4">
            <h2 className="text-sm font-semibold text-ink-soft">
              {plural(open.length, "review waits", "reviews wait")} for a decision
            </h2>
            {open.map((one, index) => (
              <ReviewCard key={keyOf(one)} review={one} isWanted={keyOf(one) === wantedKey}>
                <Decide
                  review={one}
                  isOpenAtFirst={isListed ? keyOf(one) === wantedKey : index === 0}
                  onDecided={(decided) => tell(one, outcomeWords(one, decided))}
                />
              </ReviewCard>
            ))}
          </section>
        )}
        <Decided
          key={wantedKey ?? ""}
          reviews={decided}
          wantedKey={wantedKey}
          isCut={reviews.length >= MOST_SHOWN}
        />
      </div>
    </div>
  );
}

type DecideProps = Parameters<typeof DecideForm>[0] & { isOpenAtFirst: boolean };

/** One form is open to begin with: with many that wait, one still sees what they are about. */
function Decide({ isOpenAtFirst, ...form }: DecideProps) {
  const [isChosen, setChosen] = useState(false);
  if (isChosen || isOpenAtFirst) return <DecideForm {...form} />;
  return (
    <div className="mt-3 flex justify-end">
      <Button look="primary" onClick={() => setChosen(true)}>
        Decide …
      </Button>
    </div>
  );
}

type DecidedProps = { reviews: readonly Review[]; wantedKey: string | null; isCut: boolean };

function Decided({ reviews, wantedKey, isCut }: DecidedProps) {
  const hasWanted = reviews.some((one) => keyOf(one) === wantedKey);
  const [isOpen, setOpen] = useState(hasWanted);
  if (reviews.length === 0) return null;
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="cursor-pointer rounded py-1 text-sm font-semibold text-ink-soft hover:text-ink">
        <h2 className="inline">Decided ({reviews.length})</h2>
      </summary>
      {isOpen && (
        <div className="mt-2 space-y-3">
          {reviews.map((one) => (
            <ReviewCard key={keyOf(one)} review={one} isWanted={keyOf(one) === wantedKey} />
          ))}
          {isCut && (
            <p className="text-sm text-ink-faint">Only the newest are shown here; Runs has all of them.</p>
          )}
        </div>
      )}
    </details>
  );
}

/** A link leads to a review that the list does not have: an old one, or none at all. */
function Unlisted({ runId, reviewId }: { runId: string; reviewId: string }) {
  const review = useReview(runId, reviewId, true);
  if (review.isPending) return <Loading what="Looking for the review" />;
  if (review.isError) return <ProblemNotice error={review.error} onRetry={() => void review.refetch()} />;
  return (
    <section aria-labelledby="unlisted">
      <h2 id="unlisted" className="mb-2 text-sm font-semibold text-ink-soft">
        The review that the link leads to
      </h2>
      <ReviewCard review={review.data} isWanted />
    </section>
  );
}
