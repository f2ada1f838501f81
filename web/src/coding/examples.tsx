import { LoaderCircle, Play } from "lucide-react";
import { useNavigate } from "react-router";
import { Button } from "@/ui/button";
import { Loading, ProblemNotice } from "@/ui/states";
import { useBegin, useExamples } from "./coding-queries";

/** Sessions that need no key: a script stands for the model, and all else is real. */
export function Examples() {
  const navigate = useNavigate();
  const examples = useExamples();
  const begin = useBegin((runId) => void navigate(`/coding/${encodeURIComponent(runId)}`));
  if (examples.isPending) return <Loading what="Looking for examples" />;
  if (examples.data === undefined) {
    return <ProblemNotice error={examples.error} onRetry={() => void examples.refetch()} />;
  }
  const isUnderWay = begin.isPending || begin.isSuccess;
  const chosen = begin.variables?.example;
  return (
    <>
      <ul aria-label="Examples" className="grid gap-3 sm:grid-cols-2">
        {examples.data.map((one) => (
          <li key={one.name} className="flex flex-col rounded-card border border-line bg-panel p-4 text-sm">
            <h3 className="font-medium">{one.title}</h3>
            <p className="mt-1 flex-1 break-words text-ink-soft">{one.about}</p>
            <p className="mt-1 break-words text-ink-soft">How it ends: {one.ends}</p>
            <Button
              className="mt-3 self-start"
              disabled={isUnderWay}
              aria-label={`Watch it: ${one.title}`}
              onClick={() => begin.mutate({ example: one.name })}
            >
              {isUnderWay && chosen === one.name ? (
                <LoaderCircle aria-hidden className="size-4 animate-spin" />
              ) : (
                <Play aria-hidden className="size-4" />
              )}
              {isUnderWay && chosen === one.name ? "Starting …" : "Watch it"}
            </Button>
          </li>
        ))}
      </ul>
      {begin.isError && (
        <ProblemNotice
          className="mt-3"
          error={begin.error}
          onRetry={() => begin.variables !== undefined && begin.mutate(begin.variables)}
        />
      )}
    </>
  );
}
