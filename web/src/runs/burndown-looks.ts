/** How lines and marks look: the same in the chart and in its legend. Told apart by their dashes, too, and not by
 * colour alone. Colours are names of tokens. */
import type { Kind } from "./burndown-data";
import type { MarkKind } from "./run-shapes";

export type Look = { colour: string; dash: number[] };

export const LINE_LOOKS: Record<Kind, Look> = {
  turns: { colour: "--accent", dash: [] },
  tokens: { colour: "--notice", dash: [7, 4] },
  cost_usd: { colour: "--ink", dash: [10, 3, 2, 3] },
  seconds: { colour: "--ink-faint", dash: [2, 3] },
};
export const LIMIT_LOOK: Look = { colour: "--stop", dash: [] };

export const MARK_COLOURS: Record<MarkKind, string> = {
  warning: "--notice",
  finding: "--stop",
  limit: "--stop",
  grant: "--good",
  paused: "--ink-faint",
  resumed: "--ink-faint",
  ended: "--ink",
};
export const MARK_WORDS: Record<MarkKind, string> = {
  warning: "Warning",
  finding: "Finding",
  limit: "Limit",
  grant: "Grant",
  paused: "Paused",
  resumed: "Resumed",
  ended: "End",
};
