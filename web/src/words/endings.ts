/** How runs stand and end, in words and colours: the same everywhere on the page. */
import type { Schemas } from "@/api/client";
import type { Outcome } from "@/stream/chunks";
import type { Tone } from "@/ui/badge";

export type Standing = { word: string; tone: Tone };

const ENDINGS: Record<string, Standing> = {
  completed: { word: "Completed", tone: "good" },
  forced: { word: "Finished at a limit", tone: "notice" },
  stopped: { word: "Stopped", tone: "notice" },
  abandoned: { word: "Abandoned", tone: "notice" },
  cancelled: { word: "Cancelled", tone: "neutral" },
  failed: { word: "Failed", tone: "stop" },
  under_review: { word: "Waits for a review", tone: "notice" },
  awaiting_user: { word: "Waits for you", tone: "notice" },
};

export function endingOf(outcome: Outcome | string): Standing {
  return ENDINGS[outcome] ?? { word: outcome, tone: "neutral" };
}

/** How a run in a list stands. */
export function standingOf(run: Pick<Schemas["RunShape"], "phase" | "ending" | "is_left_open">): Standing {
  switch (run.phase) {
    case "RUNNING":
      return run.is_left_open ? { word: "Left open", tone: "stop" } : { word: "Running", tone: "accent" };
    case "BUDGET_REVIEW":
      return endingOf("under_review");
    case "AWAIT_USER":
      return endingOf("awaiting_user");
    case "ENDED":
      return endedAs(run.ending ?? "completed");
  }
}

/** How it ended, of the words that lists have. What came with a warning does not look like a plain success. */
function endedAs(ending: string): Standing {
  const standing = endingOf(ending.split(/[^a-z_]/i)[0]?.toLowerCase() ?? "");
  return ending.startsWith("completed, with a warning") ? { ...standing, tone: "notice" } : standing;
}
