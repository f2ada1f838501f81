/** Numbers as people read them. What is not known is said to be unknown. */

const counts = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const UNKNOWN = "unknown";

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : counts.format(value);
}

/** 200000 → 200k, as in "at most 200k tokens". */
export function shortCount(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : short.format(value).toLowerCase();
}

/** Money comes as text, so that nothing is lost on the way. Small sums keep their digits. */
export function money(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  const amount = Number(value);
  if (!Number.isFinite(amount)) return UNKNOWN;
  if (amount !== 0 && Math.abs(amount) < 0.01) return `$${amount.toPrecision(2)}`;
  return `$${amount.toFixed(2)}`;
}

/** What something can cost at most: rounded up, so that it is never more. */
export function moneyAtMost(dollars: string): string {
  const amount = Number(dollars);
  if (!Number.isFinite(amount)) return UNKNOWN;
  return `$${centsUp(amount)}`;
}

/** Up to whole cents: 0.4201 is 0.43. */
export function centsUp(dollars: number): string {
  // A little less first: 0.42 * 100 is a little more than 42, which is not what was meant.
  return (Math.ceil(dollars * 100 - 1e-6) / 100).toFixed(2);
}

/** What was typed, without the marks between thousands: "50,000" is "50000". Anything else stays as it is. */
export function withoutMarks(typed: string): string {
  return /^\d{1,3}([ ,_]\d{3})+$/.test(typed) ? typed.replace(/[ ,_]/g, "") : typed;
}

/** 4.2 s, 38 s, 3 min 20 s, 2 h 5 min. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return UNKNOWN;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return joined(`${minutes} min`, whole % 60, "s");
  return joined(`${Math.floor(minutes / 60)} h`, minutes % 60, "min");
}

function joined(large: string, rest: number, unit: string): string {
  return rest === 0 ? large : `${large} ${rest} ${unit}`;
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const dates = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });

/** "5 minutes ago", and the date when it is long ago. */
export function ago(iso: string, now: number = Date.now()): string {
  const seconds = (Date.parse(iso) - now) / 1_000;
  if (seconds > -45) return "just now";
  if (seconds > -3_600) return relative.format(Math.round(seconds / 60), "minute");
  if (seconds > -86_400) return relative.format(Math.round(seconds / 3_600), "hour");
  if (seconds > -7 * 86_400) return relative.format(Math.round(seconds / 86_400), "day");
  return dates.format(new Date(iso));
}

export function moment(iso: string): string {
  return exact.format(new Date(iso));
}

/** A text of somebody else's, closed with a full stop where it has no end of its own. */
export function closed(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

export function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** "1 turn", "3 turns". */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
