/** What somebody has filled in for a new session, and what is sent of it. Pure. */
import { withoutMarks } from "@/words/format";

/** The limits that can be set for one session; all others are the policy's. */
export const LIMITS = [
  { key: "session.minutes", label: "Time", unit: "minutes", isMoney: false },
  { key: "session.model_calls", label: "Model calls", unit: "calls", isMoney: false },
  { key: "session.tokens", label: "Tokens", unit: "tokens", isMoney: false },
  { key: "session.cost_usd", label: "Cost", unit: "$", isMoney: true },
  { key: "build.rounds", label: "Rounds", unit: "rounds", isMoney: false },
  { key: "price.reject_over_usd", label: "Reject a price over", unit: "$", isMoney: true },
] as const;

export type LimitKey = (typeof LIMITS)[number]["key"];

export type Wanted = {
  intent: string;
  repository: string;
  /** Empty for the configured one. */
  model: string;
  testCommand: string;
  /** Approve a price up to this without asking; empty: as the policy says. */
  yesUnder: string;
  /** As they were typed; empty: as the policy says. */
  limits: Readonly<Partial<Record<LimitKey, string>>>;
  holdsInterview: boolean;
};

export const NOTHING_WANTED: Wanted = {
  intent: "",
  repository: "",
  model: "",
  testCommand: "",
  yesUnder: "",
  limits: {},
  holdsInterview: true,
};

export type Overrides = Record<string, Record<string, number | string | boolean>>;

export type Asked = {
  intent: string;
  repository: string;
  model?: string;
  test_command?: string;
  policy?: Overrides;
};

/** What has to be said before anything can be looked at, in words; null if nothing has to. */
export function missing(wanted: Wanted, needsModel: boolean): string | null {
  if (wanted.intent.trim() === "") return "Say first what is to be built.";
  if (wanted.repository.trim() === "") return "Say first in which repository.";
  if (needsModel && wanted.model.trim() === "") return "Name first a model that writes code.";
  return notNumbers(wanted).length > 0 ? "One of the limits is not a number." : null;
}

export function isNumber(text: string): boolean {
  return /^\d+(\.\d+)?$/.test(plain(text));
}

/** The numbers that are none, by the field they were typed into. */
export function notNumbers(wanted: Wanted): string[] {
  const typed: [string, string | undefined][] = [
    ...LIMITS.map(({ key }): [string, string | undefined] => [key, wanted.limits[key]]),
    ["yes_under_usd", wanted.yesUnder],
  ];
  return typed
    .filter(([, text]) => text !== undefined && plain(text) !== "" && !isNumber(text))
    .map(([key]) => key);
}

/** The body of the request, without what was left empty. */
export function askedOf(wanted: Wanted): Asked {
  const policy = overridesOf(wanted);
  return {
    intent: wanted.intent.trim(),
    repository: wanted.repository.trim(),
    ...(wanted.model.trim() !== "" && { model: wanted.model.trim() }),
    ...(wanted.testCommand.trim() !== "" && { test_command: wanted.testCommand.trim() }),
    ...(Object.keys(policy).length > 0 && { policy }),
  };
}

/** Money as text, so that nothing is lost on the way; undefined if nothing was said. */
export function yesUnderOf(wanted: Wanted): string | undefined {
  return plain(wanted.yesUnder) === "" ? undefined : plain(wanted.yesUnder);
}

function overridesOf(wanted: Wanted): Overrides {
  const overrides: Overrides = {};
  for (const { key, isMoney } of LIMITS) {
    const text = plain(wanted.limits[key] ?? "");
    const [section, name] = key.split(".", 2);
    if (text === "" || section === undefined || name === undefined) continue;
    overrides[section] = { ...overrides[section], [name]: isMoney ? text : Number(text) };
  }
  return wanted.holdsInterview ? overrides : { ...overrides, interview: { is_on: false } };
}

function plain(text: string): string {
  return withoutMarks(text.trim());
}
