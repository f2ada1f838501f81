/** What a question can use at most, in words. Rounded up, for it is a bound. Pure. */
import type { Schemas } from "@/api/client";
import { count, duration, moneyAtMost, plural } from "@/words/format";

type Bound = Pick<Schemas["PlannedBound"], "is_price_known"> & {
  without_grants: Pick<Schemas["BoundShape"], "turns" | "tokens" | "cost_usd" | "seconds">;
};

/** "at most 30 turns · 200k tokens · $0.42 · 5 min". What nothing bounds is left out, but the cost. */
export function boundWords({ is_price_known, without_grants: most }: Bound): string {
  const parts = [
    most.turns === null ? null : plural(most.turns, "turn"),
    most.tokens === null ? null : `${tokensAtMost(most.tokens)} tokens`,
    most.cost_usd === null || !is_price_known ? "cost unknown" : moneyAtMost(most.cost_usd),
    most.seconds === null ? null : duration(most.seconds),
  ];
  return `at most ${parts.filter((part) => part !== null).join(" · ")}`;
}

export function tokensAtMost(tokens: number): string {
  if (tokens < 10_000) return count(tokens);
  if (tokens < 1_000_000) return `${Math.ceil(tokens / 1_000)}k`;
  return `${Math.ceil(tokens / 10_000) / 100}M`;
}
