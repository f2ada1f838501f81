import { useCallback } from "react";
import { Link, useSearchParams } from "react-router";
import { Button } from "@/ui/button";
import { Page } from "@/ui/page";
import { Empty, Loading, ProblemNotice } from "@/ui/states";
import { plural } from "@/words/format";
import { RunFilterBar } from "./run-filter-bar";
import { changed, filtersOf, isNarrowed, paramsOf, type RunFilters } from "./run-filters";
import { RunList } from "./run-list";
import { useRuns } from "./run-queries";

/** Every run, narrowed as the address says. */
export function Component() {
  const [params, setParams] = useSearchParams();
  const filters = filtersOf(params);
  const narrow = useCallback(
    (change: Partial<RunFilters>, options?: { replace: boolean }) =>
      setParams((before) => paramsOf(changed(filtersOf(before), change)), options ?? { replace: false }),
    [setParams],
  );
  return (
    <Page title="Runs" lead="Every run, what it used, and how it ended.">
      <RunFilterBar filters={filters} onNarrow={narrow} />
      <Found filters={filters} onClear={() => setParams(new URLSearchParams())} />
    </Page>
  );
}

function Found({ filters, onClear }: { filters: RunFilters; onClear: () => void }) {
  const found = useRuns(filters);
  if (found.isPending) return <Loading what="Looking for runs" />;
  if (found.isError && found.data === undefined) {
    return <ProblemNotice error={found.error} onRetry={() => void found.refetch()} />;
  }
  const runs = found.data?.pages.flatMap((page) => page.runs) ?? [];
  return (
    <>
      <p role="status" className="sr-only">
        {found.isPlaceholderData ? "Looking …" : `${plural(runs.length, "run")} shown`}
      </p>
      {found.isError && (
        <ProblemNotice error={found.error} onRetry={() => void found.refetch()} className="mb-4" />
      )}
      {runs.length > 0 && <RunList runs={runs} isOld={found.isPlaceholderData} />}
      {runs.length === 0 && !found.isPlaceholderData && (
        <Nothing isNarrowed={isNarrowed(filters)} onClear={onClear} />
      )}
      {found.hasNextPage && (
        <div className="mt-4 flex justify-center">
          <Button disabled={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            {found.isFetchingNextPage ? "Loading more …" : "Show more"}
          </Button>
        </div>
      )}
    </>
  );
}

function Nothing({ isNarrowed, onClear }: { isNarrowed: boolean; onClear: () => void }) {
  if (isNarrowed) {
    return (
      <Empty title="Nothing matches">
        <p className="mb-3">There are no runs like this. Search for other words, or look at all of them.</p>
        <Button onClick={onClear}>Show all runs</Button>
      </Empty>
    );
  }
  return (
    <Empty title="No runs yet">
      <p>
        Whatever you ask becomes a run, and is kept here with all it used.{" "}
        <Link to="/" className="font-medium text-accent underline underline-offset-2">
          Ask something
        </Link>
        .
      </p>
    </Empty>
  );
}
