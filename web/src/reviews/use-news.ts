import { type RefObject, useEffect, useRef, useState } from "react";
import { decidedElsewhere, elsewhereWords, keyOf } from "./decisions";
import type { Review } from "./review-queries";

export type News = { key: string; runId: string; text: string };

type Telling = {
  news: readonly News[];
  /** Where the keyboard goes on when the form that had it is gone. */
  place: RefObject<HTMLUListElement | null>;
  tell: (review: Review, text: string) => void;
  dismiss: (key: string) => void;
};

/** What became of reviews that are gone from the list: decided here, by somebody else, or in another tab. */
export function useNews(reviews: readonly Review[]): Telling {
  const [news, setNews] = useState<readonly News[]>([]);
  const own = useRef(new Set<string>());
  const before = useRef(reviews);
  const place = useRef<HTMLUListElement>(null);
  const add = (review: Review, text: string) => {
    const key = keyOf(review);
    setNews((known) => [{ key, runId: review.run_id, text }, ...known.filter((one) => one.key !== key)]);
  };
  useEffect(() => {
    const decided = decidedElsewhere(before.current, reviews, own.current);
    const isFewer = openOf(reviews) < openOf(before.current);
    before.current = reviews;
    if (isFewer && document.activeElement === document.body) place.current?.focus();
    if (decided.length === 0) return;
    const told = decided.map((one) => ({ key: keyOf(one), runId: one.run_id, text: elsewhereWords(one) }));
    setNews((known) => [...told, ...known]);
  }, [reviews]);
  return {
    news,
    place,
    tell: (review, text) => {
      own.current.add(keyOf(review));
      add(review, text);
    },
    dismiss: (key) => setNews((known) => known.filter((one) => one.key !== key)),
  };
}

function openOf(reviews: readonly Review[]): number {
  return reviews.filter((one) => one.decision === null).length;
}
