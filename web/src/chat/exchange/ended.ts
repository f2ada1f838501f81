/** How an exchange ended, as far as is known without its stream. Pure. */
import type { Schemas } from "@/api/client";
import type { Ending, Outcome } from "@/stream/chunks";
import type { RunState } from "@/stream/run-state";
import { capital, closed } from "@/words/format";

export type Ended = Pick<Ending, "outcome" | "warnings"> & Partial<Ending>;

const PREFIXES: readonly [RegExp, Outcome][] = [
  [/^forced to complete:?\s*/, "forced"],
  [/^stopped:?\s*/, "stopped"],
  [/^abandoned:?\s*/, "abandoned"],
  [/^failed(?: \([^)]*\))?:?\s*/, "failed"],
];
const WARNED = /^completed, with a warning:\s*/;

/** The words in which lists say how a run ended, taken apart again. */
export function endedInWords(words: string): Ended {
  if (words.startsWith("cancelled")) return { outcome: "cancelled", warnings: [], reason: sentence(words) };
  for (const [prefix, outcome] of PREFIXES) {
    if (prefix.test(words)) return { outcome, warnings: [], reason: sentence(words.replace(prefix, "")) };
  }
  return { outcome: "completed", warnings: WARNED.test(words) ? [words.replace(WARNED, "")] : [] };
}

/** The stream knows best; until it has told, what the conversation knows. Null while it goes on. */
export function endedOf(exchange: Schemas["Exchange"], state: RunState | null): Ended | null {
  if (state?.ending) return state.ending;
  return exchange.phase === "ENDED" ? endedInWords(exchange.ending ?? "completed") : null;
}

/** Words of a record as a sentence: with a capital and a full stop. */
export function sentence(text: string): string {
  return text === "" ? "" : closed(capital(text));
}
