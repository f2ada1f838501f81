import { TriangleAlert } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { Link } from "react-router";
import type { Schemas } from "@/api/client";
import { Badge } from "@/ui/badge";
import { cx } from "@/ui/cx";
import { ago, moment, plural } from "@/words/format";
import { decisionWord, keyOf } from "./decisions";
import { FindingList } from "./finding-list";
import type { Review } from "./review-queries";

type ReviewCardProps = {
  review: Review;
  /** The one that a link leads to: it is brought into view, once. */
  isWanted: boolean;
  /** The form to decide it, while it waits. */
  children?: ReactNode;
};

/** All that a decision rests on. */
export function ReviewCard({ review, isWanted, children }: ReviewCardProps) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!isWanted) return;
    place.current?.scrollIntoView({ block: "start" });
    place.current?.focus({ preventScroll: true });
  }, [isWanted]);
  const titleId = `review-${keyOf(review)}`;
  return (
    <article
      ref={place}
      tabIndex={-1}
      aria-labelledby={titleId}
      className={cx(
        "scroll-mt-4 rounded-card border bg-panel p-4 outline-none",
        isWanted ? "border-accent" : "border-line",
      )}
    >
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-1">
        <h3 id={titleId} className="min-w-0 font-semibold break-words">
          {review.why}
        </h3>
        <Standing review={review} />
      </div>
      <p className="mt-1 text-sm break-words text-ink-soft">
        {review.question === "" ? "No question is on record." : review.question}
      </p>
      <dl className="mt-3 grid gap-x-4 gap-y-1 text-sm sm:grid-cols-[9rem_minmax(0,1fr)]">
        <Line term="Was doing">
          {review.doing === "" ? (
            "nothing that is on record"
          ) : (
            <span className="font-mono text-xs">{review.doing}</span>
          )}
        </Line>
        <Line term="Spent so far">{review.spent || "unknown"}</Line>
        {review.times_in_a_row > 0 && (
          <Line term="Changes asked for">{plural(review.times_in_a_row, "time")} in a row before this</Line>
        )}
      </dl>
      <Warnings warnings={review.warnings} />
      <FindingList findings={review.findings} />
      <Links review={review} />
      {children}
    </article>
  );
}

function Standing({ review }: { review: Review }) {
  if (review.decision === null) {
    return (
      <span className="flex items-center gap-2 text-xs text-ink-faint" title={moment(review.requested_at)}>
        {ago(review.requested_at)}
        <Badge tone="notice">Waits for you</Badge>
      </span>
    );
  }
  const { word, tone } = decisionWord(review.decision);
  const at = review.decided_at;
  return (
    <span
      className="flex flex-wrap items-center gap-2 text-xs text-ink-faint"
      title={at === null ? "" : moment(at)}
    >
      by {review.decided_by ?? "unknown"}
      {at !== null && `, ${ago(at)}`}
      <Badge tone={tone}>{word}</Badge>
    </span>
  );
}

function Line({ term, children }: { term: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-faint">{term}</dt>
      <dd className="min-w-0 break-words max-sm:mb-1">{children}</dd>
    </>
  );
}

function Warnings({ warnings }: { warnings: Schemas["ReviewShape"]["warnings"] }) {
  if (warnings.length === 0) return null;
  return (
    <ul className="mt-3 space-y-1 rounded-control border border-notice-line bg-notice-soft p-3 text-sm text-notice">
      {warnings.map((warning) => (
        <li key={warning} className="flex items-start gap-2">
          <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
          <span className="min-w-0 break-words">{warning}</span>
        </li>
      ))}
    </ul>
  );
}

function Links({ review }: { review: Review }) {
  const look = "rounded font-medium text-accent underline-offset-2 hover:underline";
  return (
    <p className="mt-3 flex flex-wrap gap-x-4 text-sm">
      <Link to={`/runs/${encodeURIComponent(review.run_id)}`} className={look}>
        See the whole run
      </Link>
      {review.conversation_id !== null && (
        <Link to={`/c/${encodeURIComponent(review.conversation_id)}`} className={look}>
          Open the conversation
        </Link>
      )}
    </p>
  );
}
