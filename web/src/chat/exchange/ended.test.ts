import { describe, expect, it } from "vitest";
import type { Chunk } from "@/stream/chunks";
import { NOTHING_YET, told } from "@/stream/run-state";
import { endedInWords, endedOf } from "./ended";

const EXCHANGE = {
  run_id: "run_1",
  question: "?",
  answer: null,
  ending: null,
  phase: "ENDED",
  started_at: "2026-01-01T00:00:00Z",
} as const;

describe("endedInWords", () => {
  it.each([
    ["completed", "completed", undefined],
    ["forced to complete: Iteration limit reached (10/10).", "forced", "Iteration limit reached (10/10)."],
    ["stopped: no progress", "stopped", "No progress."],
    ["abandoned: not worth it", "abandoned", "Not worth it."],
    ["cancelled by ana", "cancelled", "Cancelled by ana."],
    ["failed (model_error): The model did not answer", "failed", "The model did not answer."],
  ])("%s", (words, outcome, reason) => {
    expect(endedInWords(words)).toMatchObject({ outcome, ...(reason === undefined ? {} : { reason }) });
  });

  it("keeps warnings", () => {
    expect(endedInWords("completed, with a warning: Cut short.").warnings).toEqual(["Cut short."]);
  });
});

describe("endedOf", () => {
  it("believes the stream first", () => {
    const done: Chunk = {
      type: "done",
      outcome: "forced",
      answer: "",
      is_forced: true,
      warnings: [],
      reason: "r",
    };
    expect(endedOf({ ...EXCHANGE, ending: "completed" }, told(NOTHING_YET, done))?.outcome).toBe("forced");
  });

  it("is nothing while the run goes on", () => {
    expect(endedOf({ ...EXCHANGE, phase: "RUNNING" }, NOTHING_YET)).toBeNull();
    expect(endedOf(EXCHANGE, NOTHING_YET)?.outcome).toBe("completed");
  });
});
