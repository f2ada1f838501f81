/** What a system message measured, in words. Pure. */
import type { Amounts, Meter, SystemMessage } from "@/stream/chunks";
import { count, duration, money, plural, shortCount } from "@/words/format";

/** "21 of 30 turns", "$0.30 of $0.42", "3 times". */
export function readingOf({ current_value, limit_value, limit_type }: SystemMessage["metadata"]): string {
  const [current, limit] = [Number(current_value), Number(limit_value)];
  switch (limit_type) {
    case "turns":
      return `${count(current)} of ${plural(limit, "turn")}`;
    case "model_calls":
      return `${count(current)} of ${plural(limit, "model call")}`;
    case "tokens":
      return `${count(current)} of ${count(limit)} tokens`;
    case "context_tokens":
      return `${count(current)} of ${count(limit)} tokens of context`;
    case "cost_usd":
      return `${money(current_value)} of ${money(limit_value)}`;
    case "seconds":
      return `${duration(current)} of ${duration(limit)}`;
    case "tool_calls_per_turn":
    case "parallel_tools":
      return `${count(current)} of ${plural(limit, "tool call")}`;
    default:
      return plural(current, "time");
  }
}

const MORE: Record<Meter, (amount: number) => string> = {
  turns: (amount) => plural(amount, "turn"),
  tokens: (amount) => `${shortCount(amount)} tokens`,
  cost_usd: (amount) => money(amount),
  seconds: (amount) => duration(amount),
  model_calls: (amount) => plural(amount, "model call"),
};

/** "10 turns and $0.50". */
export function addedWords(added: Amounts): string {
  const words = (Object.keys(MORE) as Meter[])
    .filter((name) => Number(added[name] ?? 0) > 0)
    .map((name) => MORE[name](Number(added[name])));
  return words.length === 0 ? "nothing" : new Intl.ListFormat("en").format(words);
}
