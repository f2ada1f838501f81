/** The drawing itself, with uPlot: loaded only when a run is looked at. */
import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import type { ChartData, ChartView } from "./burndown-data";
import { optionsOf } from "./burndown-draw";
import "uplot/dist/uPlot.min.css";

type ChartProps = {
  data: ChartData;
  view: ChartView;
  /** For those who cannot see it. */
  label: string;
  height: number;
  onPoint: (index: number | null) => void;
};

export default function BurndownChart({ data, view, label, height, onPoint }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const latest = useRef(data);
  const chart = useRef<uPlot | null>(null);
  const theme = useThemeName();
  const lines = data.lines.length;

  // First, so that a chart that is made anew is made of these. The one before is gone by then.
  useEffect(() => {
    latest.current = data;
    chart.current?.setData(rowsFor(data));
  }, [data]);

  // Made anew when it looks different; told new data while it looks the same.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `theme` and `lines` are why it must be made anew.
  useEffect(() => {
    const place = box.current;
    if (place === null) return;
    const options = optionsOf({
      view,
      width: place.clientWidth,
      height,
      data: () => latest.current,
      onPoint,
    });
    const made = new uPlot(options, rowsFor(latest.current), place);
    chart.current = made;
    const sizes = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height }));
    sizes.observe(place);
    return () => {
      sizes.disconnect();
      made.destroy();
      chart.current = null;
      onPoint(null);
    };
  }, [view, height, theme, lines, onPoint]);

  return (
    <div ref={box} role="img" aria-label={label} className="w-full overflow-hidden" style={{ height }} />
  );
}

function rowsFor(data: ChartData): uPlot.AlignedData {
  return [data.xs, ...data.lines.map((line) => line.values)];
}

/** A canvas does not change its colours by itself. */
function useThemeName(): string {
  const [theme, setTheme] = useState(() => document.documentElement.dataset.theme ?? "");
  useEffect(() => {
    const watch = new MutationObserver(() => setTheme(document.documentElement.dataset.theme ?? ""));
    watch.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => watch.disconnect();
  }, []);
  return theme;
}
