/** What a tree can use at most, in words. Never less than it is, for it is a bound. Pure. */
import type { Schemas } from "@/api/client";
import { count, duration, moneyAtMost, plural } from "@/words/format";
import type { TreeBound } from "./tree-shapes";

type Bound = Schemas["BoundShape"];

export const NO_BOUND = "no bound";

export type BoundRow = { name: string; perRun: string; perPass: string };

const ROWS: readonly { name: string; words: (bound: Bound) => string | null }[] = [
  { name: "Turns", words: ({ turns }) => (turns === null ? null : count(turns)) },
  { name: "Model calls", words: (bound) => (bound.model_calls === null ? null : count(bound.model_calls)) },
  { name: "Tool calls", words: (bound) => (bound.tool_calls === null ? null : count(bound.tool_calls)) },
  { name: "Tokens", words: ({ tokens }) => (tokens === null ? null : count(tokens)) },
  { name: "Cost", words: (bound) => (bound.cost_usd === null ? null : moneyAtMost(bound.cost_usd)) },
  { name: "Time", words: ({ seconds }) => (seconds === null ? null : duration(seconds)) },
];

export function boundRows(bound: TreeBound): BoundRow[] {
  return ROWS.map(({ name, words }) => ({
    name,
    perRun: words(bound.per_run) ?? NO_BOUND,
    perPass: words(bound.per_pass) ?? NO_BOUND,
  }));
}

/** "A run can use at most 30 turns, 200,000 tokens and 5 min." What nothing bounds is left to the table. */
export function boundSentence({ per_run: run }: TreeBound): string {
  const parts = [
    run.turns === null ? null : plural(run.turns, "turn"),
    run.tokens === null ? null : plural(run.tokens, "token"),
    run.cost_usd === null ? null : moneyAtMost(run.cost_usd),
    run.seconds === null ? null : duration(run.seconds),
  ].filter((part) => part !== null);
  if (parts.length === 0) return "Nothing bounds a run of this tree under your settings.";
  return `A run can use at most ${new Intl.ListFormat("en").format(parts)}.`;
}

/** "One pass through the tree runs at most 1,656 leaves." */
export function leavesSentence(bound: TreeBound): string {
  return `One pass through the tree runs at most ${plural(bound.leaf_runs_per_pass, "leaf", "leaves")}.`;
}
