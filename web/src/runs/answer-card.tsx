import { Card } from "@/ui/card";
import { Markdown } from "@/ui/markdown";
import type { RunDetail } from "./run-shapes";

/** What it said at last. */
export function AnswerCard({ run }: { run: RunDetail }) {
  const answer = run.answer?.trim() ?? "";
  if (run.phase !== "ENDED") return null;
  return (
    <Card title={run.is_forced ? "The answer, as far as it came" : "The answer"}>
      {answer === "" ? (
        <p className="text-sm text-ink-soft">
          It ended without an answer. The record of every turn is below.
        </p>
      ) : (
        <Markdown text={answer} />
      )}
    </Card>
  );
}
