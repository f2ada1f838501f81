/** The chart's options: what uPlot is told to draw, in the colours of the page. */
import uPlot from "uplot";
import { duration, money, shortCount } from "@/words/format";
import type { ChartData, ChartView, Line } from "./burndown-data";
import { LIMIT_LOOK, LINE_LOOKS, MARK_COLOURS } from "./burndown-looks";
import { groupsOf, weightiest } from "./burndown-marks";

const FONT = "11px ui-sans-serif, system-ui, sans-serif";
const PILL = 16;
const NEAREST = 20;

type Drawn = {
  view: ChartView;
  width: number;
  height: number;
  /** As it is now: it changes while a run is live, and the chart stays. */
  data: () => ChartData;
  onPoint: (index: number | null) => void;
};

export function optionsOf(drawn: Drawn): uPlot.Options {
  const { view, data } = drawn;
  const axis = {
    stroke: colour("--ink-soft"),
    font: FONT,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: drawn.width,
    height: drawn.height,
    padding: [PILL + 8, 14, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    scales: {
      x: { time: false, range: () => [0, data().xs.at(-1) || 1] },
      y: { range: () => [0, data().top] },
    },
    axes: [
      { ...axis, space: 70, size: 30, values: (_, ticks) => ticks.map((tick) => duration(tick)) },
      { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => height(view, tick)) },
    ],
    series: [{}, ...data().lines.map(seriesOf)],
    hooks: {
      draw: [(chart) => drawOver(chart, view, data())],
      setCursor: [(chart) => drawn.onPoint(chart.cursor.idx ?? null)],
    },
  };
}

function seriesOf(line: Line): uPlot.Series {
  const look = line.isLimit ? LIMIT_LOOK : LINE_LOOKS[line.kind];
  // What is counted goes up at once, and time passes evenly.
  const stepped = line.kind === "seconds" && !line.isLimit ? undefined : uPlot.paths.stepped?.({ align: 1 });
  return {
    stroke: colour(look.colour),
    width: line.isLimit ? 1.5 : 2,
    dash: look.dash,
    points: { show: false },
    ...(stepped && { paths: stepped }),
  };
}

function height(view: ChartView, value: number): string {
  if (view === "percent") return `${value} %`;
  if (view === "cost_usd") return money(value);
  return view === "seconds" ? duration(value) : shortCount(value);
}

/** The limit of all in percent, and the marks with their numbers. */
function drawOver(chart: uPlot, view: ChartView, data: ChartData): void {
  const { ctx, bbox } = chart;
  const ratio = uPlot.pxRatio;
  ctx.save();
  ctx.setLineDash([]); // the line drawn last leaves its own
  ctx.lineWidth = 1.5 * ratio;
  if (view === "percent") {
    ctx.strokeStyle = colour(LIMIT_LOOK.colour);
    const top = chart.valToPos(100, "y", true);
    stroke(ctx, [bbox.left, top, bbox.left + bbox.width, top]);
  }
  ctx.font = `600 ${10 * ratio}px ui-sans-serif, system-ui, sans-serif`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  for (const group of groupsOf(data.marks, (x) => chart.valToPos(x, "x", true), NEAREST * ratio)) {
    ctx.strokeStyle = colour("--line-strong");
    ctx.lineWidth = ratio;
    ctx.setLineDash([3 * ratio, 3 * ratio]);
    for (const mark of group.marks) {
      const left = chart.valToPos(mark.x, "x", true);
      stroke(ctx, [left, bbox.top, left, bbox.top + bbox.height]);
    }
    ctx.setLineDash([]);
    const width = Math.max(PILL * ratio, ctx.measureText(group.label).width + 8 * ratio);
    const middle = Math.min(group.left, bbox.left + bbox.width + 12 * ratio - width / 2);
    const top = bbox.top - (PILL + 4) * ratio;
    ctx.fillStyle = colour(MARK_COLOURS[weightiest(group.marks)]);
    ctx.beginPath();
    ctx.roundRect(middle - width / 2, top, width, PILL * ratio, (PILL / 2) * ratio);
    ctx.fill();
    ctx.fillStyle = colour("--panel");
    ctx.fillText(group.label, middle, top + (PILL / 2 + 0.5) * ratio);
  }
  ctx.restore();
}

function stroke(ctx: CanvasRenderingContext2D, [x1, y1, x2, y2]: [number, number, number, number]): void {
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x2, y2);
  ctx.stroke();
}

function colour(token: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(token).trim();
}
