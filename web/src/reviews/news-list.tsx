import { X } from "lucide-react";
import type { RefObject } from "react";
import { Link } from "react-router";
import { Button } from "@/ui/button";
import type { News } from "./use-news";

type NewsListProps = {
  news: readonly News[];
  place: RefObject<HTMLUListElement | null>;
  onDismiss: (key: string) => void;
};

/** What became of reviews, until it was read. */
export function NewsList({ news, place, onDismiss }: NewsListProps) {
  return (
    <ul
      ref={place}
      tabIndex={-1}
      aria-live="polite"
      aria-label="What was decided"
      className="outline-none space-y-2 not-empty:mb-4"
    >
      {news.map(({ key, runId, text }) => (
        <li
          key={key}
          className="flex items-center gap-3 rounded-card border border-line bg-accent-soft py-2 pr-2 pl-4 text-sm"
        >
          <p className="min-w-0 grow break-words">
            {text}{" "}
            <Link
              to={`/runs/${encodeURIComponent(runId)}`}
              className="rounded font-medium text-accent underline underline-offset-2"
            >
              See the run
            </Link>
          </p>
          <Button look="ghost" size="icon" aria-label="Put this away" onClick={() => onDismiss(key)}>
            <X aria-hidden className="size-4" />
          </Button>
        </li>
      ))}
    </ul>
  );
}
