import { LoaderCircle } from "lucide-react";
import { useRun } from "@/stream/use-run";
import { usePaced } from "@/ui/use-paced";
import { activityOf } from "./activity";

const PACE_MS = 400;

/** What it is doing at this moment: one line of a height of its own, so that nothing jumps. */
export function NowLine({ runId }: { runId: string }) {
  const { state, link } = useRun(runId);
  const parts = usePaced(state.parts, PACE_MS);
  const now = activityOf(parts);
  return (
    <p className="flex h-6 min-w-0 items-center gap-2 text-sm text-ink-soft">
      <LoaderCircle aria-hidden className="size-3.5 shrink-0 animate-spin text-accent" />
      {link === "waiting" ? (
        <span role="status" className="text-notice">
          The connection is gone. Trying again …
        </span>
      ) : (
        <span className="min-w-0 truncate">
          <span className="font-medium text-ink">{now?.who ?? "It"}</span>{" "}
          {now === null ? "is getting ready …" : <span className="font-mono text-xs">{now.what}</span>}
        </span>
      )}
    </p>
  );
}
