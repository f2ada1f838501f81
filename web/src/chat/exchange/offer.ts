/** What a paused run is offered: a little more of what it ran out of. Pure. */
import type { Schemas } from "@/api/client";
import type { Meter } from "@/stream/chunks";
import type { RunState } from "@/stream/run-state";
import { duration, money, plural, shortCount } from "@/words/format";
import { MORE_TURNS } from "@/words/offers";

export type Offer = { label: string; grant: Schemas["GrantGiven"] };

const USUAL: Record<Meter, number> = {
  turns: MORE_TURNS,
  tokens: 50_000,
  cost_usd: 0.5,
  seconds: 300,
  model_calls: 10,
};

/** All grants together may add this many times the first limit, unless the budget says otherwise. */
const USUAL_CAP = 3;

export function offerOf(state: RunState): Offer {
  const dimension = reachedBy(state);
  const amount = amountOf(state, dimension);
  const nothing = { turns: 0, tokens: 0, cost_usd: "0", seconds: 0, model_calls: 0 };
  const more = dimension === "cost_usd" ? String(amount) : amount;
  return {
    label: `Continue with ${wordsOf(dimension, amount)}`,
    grant: { ...nothing, [dimension]: more, why: "continued in the chat" },
  };
}

/** The limit that was reached last; turns where it was none, or one that cannot be raised. */
function reachedBy(state: RunState): Meter {
  const last = state.parts.findLast((part) => part.kind === "system" && part.system_type !== "limit_warning");
  if (last?.kind !== "system" || last.system_type !== "limit_reached") return "turns";
  const kind = last.metadata.limit_type;
  return isMeter(kind) ? kind : "turns";
}

/** The usual amount; as much as the limit was at first, where the usual would pass the cap on grants. */
function amountOf(state: RunState, dimension: Meter): number {
  const now = state.budget?.limits[dimension];
  if (now === undefined) return USUAL[dimension];
  const granted = state.parts.reduce(
    (sum, part) => sum + (part.kind === "grant" ? Number(part.added[dimension] ?? 0) : 0),
    0,
  );
  const first = Number(now) - granted;
  return USUAL[dimension] <= USUAL_CAP * first ? USUAL[dimension] : first;
}

function wordsOf(dimension: Meter, amount: number): string {
  switch (dimension) {
    case "turns":
      return `${plural(amount, "more turn")}`;
    case "model_calls":
      return `${plural(amount, "more model call")}`;
    case "tokens":
      return `${shortCount(amount)} more tokens`;
    case "cost_usd":
      return `${money(amount)} more`;
    case "seconds":
      return amount % 60 === 0 ? plural(amount / 60, "more minute") : `${duration(amount)} more`;
  }
}

function isMeter(kind: string): kind is Meter {
  return Object.hasOwn(USUAL, kind);
}
