/** The settings: what each means, how it is written, and how its slider moves. Pure. */
import type { Schemas } from "@/api/client";
import { count, duration, money, plural, withoutMarks } from "@/words/format";
import { evenScale, growingScale, type Scale } from "./scale";

export type Settings = Schemas["Settings"];
export type SettingName = keyof Settings;
export type Bound = Schemas["SettingBound"];

export type Field = {
  name: SettingName;
  title: string;
  /** What it does, in one plain sentence. */
  means: string;
  unit: string;
  /** The value as it is read out. */
  words: (value: number) => string;
  /** Written as one types it, it is hard to read: it is said in words, too. */
  isRetold?: boolean;
  isGrowing?: boolean;
  isMoney?: boolean;
};
export type Group = { title: string; lead: string; fields: readonly Field[] };

const percentOf = (what: string) => (value: number) => `${value} % of the ${what}`;

export const GROUPS: readonly Group[] = [
  {
    title: "How much a run may use",
    lead: "Whichever is reached first ends the run, with its work saved.",
    fields: [
      {
        name: "max_iterations",
        title: "Turns",
        means: "How often the agent may think and act before it has to answer.",
        unit: "turns",
        words: (value) => plural(value, "turn"),
      },
      {
        name: "token_budget",
        title: "Tokens",
        means: "How much text it may read and write in all; a token is about four letters.",
        unit: "tokens",
        words: (value) => plural(value, "token"),
        isGrowing: true,
      },
      {
        name: "cost_limit_usd",
        title: "Cost",
        means: "How many dollars one run may cost at most.",
        unit: "",
        words: (value) => money(value),
        isGrowing: true,
        isMoney: true,
      },
      {
        name: "timeout_seconds",
        title: "Time",
        means: "How long a run may take; time that it waits for you does not count.",
        unit: "s",
        words: duration,
        isRetold: true,
      },
    ],
  },
  {
    title: "When it is warned",
    lead: "A warned agent is told to wrap up, so that it ends with an answer and not in the middle.",
    fields: [
      {
        name: "soft_warning_percent",
        title: "Turns warning",
        means: "When so much of its turns is used, the agent is told to wrap up.",
        unit: "%",
        words: percentOf("turns"),
      },
      {
        name: "token_warning_percent",
        title: "Tokens warning",
        means: "When so much of its tokens is used, the agent is told to wrap up.",
        unit: "%",
        words: percentOf("tokens"),
      },
    ],
  },
  {
    title: "How it uses tools",
    lead: "Calls beyond these are not run, and the agent is told why.",
    fields: [
      {
        name: "max_tool_calls_per_turn",
        title: "Tool calls per turn",
        means: "How many tools it may call in one turn.",
        unit: "calls",
        words: (value) => plural(value, "call"),
      },
      {
        name: "max_parallel_tools",
        title: "Tools at once",
        means: "How many of these calls run at the same time.",
        unit: "at once",
        words: (value) => `${count(value)} at once`,
      },
    ],
  },
];

export function scaleOf(field: Field, bound: Bound): Scale {
  const [smallest, largest] = [Number(bound.smallest), Number(bound.largest)];
  return field.isGrowing ? growingScale(smallest, largest) : evenScale(smallest, largest);
}

/** What is sent for what was typed. What is no number goes as it is: the server says what is wrong with it. */
export function sentFor(field: Field, text: string | null): number | string | null {
  if (text === null) return null;
  const typed = text.trim();
  if (field.isMoney) return typed.replace(/^\$\s*/, ""); // money stays text, so that no cent is lost
  const digits = withoutMarks(typed);
  return /^[+-]?\d+(\.\d+)?$/.test(digits) ? Number(digits) : typed;
}

/** Whether what was typed means the value that the server has: "1." and "1.00" both mean "1". */
export function isSame(field: Field, typed: string, value: number | string | null): boolean {
  const sent = sentFor(field, typed);
  return sent !== null && sent !== "" && value !== null && Number(sent) === Number(value);
}

/** What a slider's value looks like in the field. */
export function textOf(field: Field, value: number): string {
  return field.isMoney ? value.toFixed(2) : String(value);
}

/** "1 to 100 turns; 30 unless you change it." */
export function boundWords(field: Field, bound: Bound): string {
  const shown = (value: number | string) => (field.isMoney ? dollars(value) : count(Number(value)));
  const unit = field.unit === "" ? "" : ` ${field.unit}`;
  const usual = bound.default === null ? "no limit" : shown(bound.default);
  return `${shown(bound.smallest)} to ${shown(bound.largest)}${unit}; ${usual} unless you change it.`;
}

function dollars(value: number | string): string {
  const amount = Number(value);
  return Number.isInteger(amount) ? `$${count(amount)}` : `$${amount.toFixed(2)}`;
}
