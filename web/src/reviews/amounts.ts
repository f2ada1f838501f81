/** How much more a run is given: what to suggest, and what is sent for what was typed. Pure. */
import type { Schemas } from "@/api/client";
import { centsUp, withoutMarks } from "@/words/format";
import { MORE_TURNS } from "@/words/offers";

export type AmountName = "turns" | "model_calls" | "tokens" | "cost_usd" | "minutes";
export type AmountTexts = Partial<Record<AmountName, string>>;
export type Grant = Schemas["GrantGiven"];
export type Meters = Schemas["RunDetail"]["meters"];

type Amount = { name: AmountName; meter: string; title: string; unit: string; isMoney?: boolean };

export const AMOUNTS: readonly Amount[] = [
  { name: "turns", meter: "turns", title: "Turns", unit: "" },
  { name: "tokens", meter: "tokens", title: "Tokens", unit: "" },
  { name: "cost_usd", meter: "cost_usd", title: "Cost", unit: "", isMoney: true },
  { name: "minutes", meter: "seconds", title: "Time", unit: "min" },
  { name: "model_calls", meter: "model_calls", title: "Model calls", unit: "" },
];

/** Those that can be given. There is nothing to add to where there is no limit. */
export function grantable(meters: Meters | undefined): readonly Amount[] {
  if (meters === undefined) return AMOUNTS.filter((one) => one.name !== "model_calls");
  return AMOUNTS.filter((one) => meters[one.meter] !== undefined);
}

/**
 * Enough of each for about ten more turns (or as many as it had at first, if that was less), at the pace so
 * far. What is left of a limit counts, so that a run that ran out of tokens is offered tokens and not turns.
 */
export function suggested(meters: Meters | undefined, turnsUsed: number): AmountTexts {
  if (meters === undefined) return { turns: String(MORE_TURNS) };
  const limit = meters.turns === undefined ? MORE_TURNS : Number(meters.turns.limit);
  const turns = Math.min(MORE_TURNS, Math.max(1, limit));
  const texts: AmountTexts = {};
  for (const amount of grantable(meters)) {
    const lacking = lackingOf(meters[amount.meter], turns, turnsUsed);
    if (lacking > 0) texts[amount.name] = textOf(amount.name, lacking);
  }
  if (Object.keys(texts).length > 0) return texts;
  return meters.turns === undefined ? {} : { turns: String(turns) };
}

function lackingOf(meter: Meters[string] | undefined, turns: number, turnsUsed: number): number {
  if (meter === undefined) return 0;
  const used = Number(meter.used);
  const free = Math.max(0, Number(meter.limit) - Number(meter.reserve ?? 0) - used);
  const pace = turnsUsed > 0 ? used / turnsUsed : 0;
  const lacking = pace * turns - free;
  // All grants together may be no more than some times the first limit: as much again is always a fair offer.
  return Number.isFinite(lacking) ? Math.min(lacking, Number(meter.limit)) : 0;
}

function textOf(name: AmountName, amount: number): string {
  switch (name) {
    case "turns":
    case "model_calls":
      return String(Math.ceil(amount));
    case "tokens":
      return String(roundedUp(amount));
    case "cost_usd":
      return centsUp(amount);
    case "minutes":
      return String(Math.max(1, Math.ceil(amount / 60)));
  }
}

/** Up to two digits: 41,230 is 42,000. */
function roundedUp(amount: number): number {
  const size = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, amount))) - 1);
  return Math.ceil(amount / size) * size;
}

export type ReadAmounts = { grant: Grant } | { wrong: AmountTexts } | { missing: true };

/** What was typed as a grant; or what is wrong, by field; or that nothing was given at all. */
export function grantOf(texts: AmountTexts): ReadAmounts {
  const wrong: AmountTexts = {};
  const read = (name: AmountName, pattern: RegExp, words: string): number => {
    const text = plain(texts[name]);
    if (!pattern.test(text)) wrong[name] = words;
    return Number(text);
  };
  const turns = read("turns", WHOLE, "A whole number, such as 10");
  const model_calls = read("model_calls", WHOLE, "A whole number, such as 10");
  const tokens = read("tokens", WHOLE, "A whole number, such as 50000");
  const cost = read("cost_usd", PARTS, "Dollars, such as 0.50");
  const minutes = read("minutes", PARTS, "Minutes, such as 5 or 1.5");
  if (Object.keys(wrong).length > 0) return { wrong };
  if (turns + model_calls + tokens + cost + minutes === 0) return { missing: true };
  const cost_usd = plain(texts.cost_usd); // money stays text, so that no cent is lost
  return { grant: { turns, model_calls, tokens, cost_usd, seconds: minutes * 60, why: WHY } };
}

/** Without the marks between thousands; nothing is zero. */
function plain(text: string | undefined): string {
  const typed = (text ?? "").trim();
  return typed === "" ? "0" : withoutMarks(typed);
}

const WHOLE = /^\d+$/;
const PARTS = /^(\d+\.?\d*|\.\d+)$/;
const WHY = "granted on the page";
