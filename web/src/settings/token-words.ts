/** Tokens, in words. Pure. */
import { ago, moment, plural } from "@/words/format";
import type { Token } from "./token-queries";

const DAY_MS = 86_400_000;
const MOST_DAYS = 3_650;

/** "Good for 12 more days. Last used 3 hours ago." */
export function tokenWords(token: Token, now: number = Date.now()): string {
  const used = token.used_at === null ? "Never used." : `Last used ${ago(token.used_at, now)}.`;
  switch (token.state) {
    case "good":
      return `${goodFor(Date.parse(token.expires_at) - now)} ${used}`;
    case "expired":
      return `Expired ${ago(token.expires_at, now)}. ${used}`;
    case "revoked":
      return `Revoked${token.revoked_at === null ? "" : ` ${ago(token.revoked_at, now)}`}. ${used}`;
  }
}

export function tokenMoments(token: Token): string {
  return `Made ${moment(token.created_at)}, expires ${moment(token.expires_at)}`;
}

/** The days that were typed; null if they are none. */
export function daysOf(text: string): number | null {
  const typed = text.trim();
  if (!/^\d{1,4}$/.test(typed)) return null;
  const days = Number(typed);
  return days >= 1 && days <= MOST_DAYS ? days : null;
}

function goodFor(ms: number): string {
  if (ms < DAY_MS) return "Good for less than a day.";
  return `Good for ${plural(Math.floor(ms / DAY_MS), "more day", "more days")}.`;
}
