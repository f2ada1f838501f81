import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import { Card } from "@/ui/card";
import { Select } from "@/ui/select";
import { Loading, ProblemNotice } from "@/ui/states";
import { type ChartView, chartOf, limitedKinds } from "./burndown-data";
import { ChartLegend } from "./burndown-legend";
import { readingAt } from "./burndown-reading";
import { sentenceOf } from "./burndown-sentence";
import { ChartMarks, ChartTable } from "./burndown-table";
import { useBurndown } from "./run-queries";
import type { Burndown, RunDetail } from "./run-shapes";
import { meterLabel } from "./run-words";

const BurndownChart = lazy(() => import("./burndown-chart"));
const HEIGHT = 260;

/** What was spent against what was allowed, over time. */
export function BurndownCard({ run, className }: { run: RunDetail; className?: string }) {
  const found = useBurndown(run.run_id);
  const [view, setView] = useState<ChartView>("percent");
  const kinds = found.data === undefined ? [] : limitedKinds(found.data);
  const choices: { value: ChartView; words: string }[] = [
    { value: "percent", words: "All limits, in percent" },
    ...kinds.map((kind) => ({ value: kind, words: meterLabel(kind) })),
  ];
  const choose = kinds.length > 0 && (
    <Select
      label="What the chart shows"
      value={view}
      choices={choices}
      onChoose={setView}
      isLabelHidden
      className="w-44"
    />
  );
  return (
    <Card title="Spent over time" aside={choose} {...(className !== undefined && { className })}>
      {found.isPending && <Loading what="Reading the figures" />}
      {found.isError && <ProblemNotice error={found.error} onRetry={() => void found.refetch()} />}
      {found.data && <Burned burndown={found.data} view={view} />}
    </Card>
  );
}

function Burned({ burndown, view }: { burndown: Burndown; view: ChartView }) {
  const data = useMemo(() => chartOf(burndown, view), [burndown, view]);
  const sentence = useMemo(() => sentenceOf(burndown), [burndown]);
  const [pointed, setPointed] = useState<number | null>(null);
  const onPoint = useCallback((index: number | null) => setPointed(index), []);
  if (data.lines.length === 0 || burndown.points.length < 2) {
    return (
      <p className="text-sm break-words">
        {sentence}{" "}
        {data.lines.length === 0
          ? "Nothing was limited, so there is nothing to draw."
          : "There is nothing to draw yet."}
      </p>
    );
  }
  return (
    <>
      <p className="mb-2 text-sm break-words">{sentence}</p>
      <ChartLegend lines={data.lines} isPercent={view === "percent"} />
      <Suspense fallback={<div style={{ height: HEIGHT }} />}>
        <BurndownChart
          data={data}
          view={view}
          label={`Chart. ${sentence}`}
          height={HEIGHT}
          onPoint={onPoint}
        />
      </Suspense>
      <p aria-hidden className="min-h-5 text-xs text-ink-soft tabular-nums max-sm:min-h-10">
        {readingAt(burndown, pointed) ?? "Point at the chart to read a moment of it."}
      </p>
      <ChartMarks marks={data.marks} />
      <ChartTable burndown={burndown} />
    </>
  );
}
