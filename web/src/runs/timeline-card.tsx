import { useState } from "react";
import { Card } from "@/ui/card";
import { type Choice, Select } from "@/ui/select";
import { Loading, ProblemNotice } from "@/ui/states";
import { useTimeline } from "./run-queries";
import type { Level } from "./timeline-lines";
import { TimelineList } from "./timeline-list";

const CHOICES: Choice<Level>[] = [
  { value: "debug", words: "Everything" },
  { value: "info", words: "Without the details" },
  { value: "warning", words: "Warnings and errors" },
  { value: "error", words: "Errors only" },
];

/** Every fact of the record as a line, in order. */
export function TimelineCard({ runId }: { runId: string }) {
  const timeline = useTimeline(runId);
  const [level, setLevel] = useState<Level>("info");
  const choose = (
    <Select label="Show" value={level} choices={CHOICES} onChoose={setLevel} isLabelHidden className="w-44" />
  );
  return (
    <Card title="Timeline" aside={choose}>
      {timeline.isPending && <Loading what="Reading the facts" />}
      {timeline.isError && <ProblemNotice error={timeline.error} onRetry={() => void timeline.refetch()} />}
      {timeline.data && <TimelineList key={level} moments={timeline.data} level={level} />}
    </Card>
  );
}
