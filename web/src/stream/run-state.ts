/** A run as its stream tells it: what was said and done, in order, and what it used. Pure. */
import type { Amounts, BudgetGiven, Chunk, Ending, Meter, Signal, SystemMessage } from "./chunks";
import { type Statuses, statusesOf } from "./statuses";

/** The run itself; everything else is one of its sub-agents: "run/reader-1". */
export const ROOT = "run";
const MOST_SIGNALS = 20;

export type ToolUse = {
  kind: "tool";
  callId: string;
  tool: string;
  arguments: unknown;
  scope: string;
  /** Null while it works. */
  result: { status: string; text: string; isError: boolean } | null;
};
export type Part =
  | { kind: "text"; text: string; turn: number; scope: string }
  | { kind: "thinking"; text: string; turn: number; scope: string }
  | ({ kind: "system"; scope: string } & SystemMessage)
  | { kind: "grant"; added: Amounts; by: string; why: string }
  | { kind: "error"; code: string; message: string }
  | ToolUse;
export type Source = { title: string; location: string; passage: string };

export type RunState = {
  parts: readonly Part[];
  sources: readonly Source[];
  signals: readonly Signal[];
  turn: number;
  isLastTurn: boolean;
  used: { turns: number; tokens: number; model_calls: number; cost_usd: number };
  /** How many calls had no known price: the cost is then a lower bound, and said to be one. */
  unknownCostCalls: number;
  budget: BudgetGiven | null;
  tree: string | null;
  /** The last known status of each node of the tree, by index. */
  statuses: Statuses;
  running: { path: readonly number[]; names: readonly string[] } | null;
  /** False while the server knows of nobody who works on it: it waits for a worker, or its worker is silent. */
  hasWorker: boolean;
  /** When it was started, paused and gone on with, in seconds: its clock runs in between. */
  clock: { ranS: number; sinceS: number | null };
  ending: Ending | null;
};

export const NOTHING_YET: RunState = {
  parts: [],
  sources: [],
  signals: [],
  turn: 0,
  isLastTurn: false,
  used: { turns: 0, tokens: 0, model_calls: 0, cost_usd: 0 },
  unknownCostCalls: 0,
  budget: null,
  tree: null,
  statuses: {},
  running: null,
  hasWorker: true,
  clock: { ranS: 0, sinceS: null },
  ending: null,
};

/** The state after one more chunk. */
export function told(state: RunState, chunk: Chunk): RunState {
  switch (chunk.type) {
    case "content":
      return { ...state, parts: said(state, "text", chunk.content, chunk.scope ?? ROOT) };
    case "thinking":
      return { ...state, parts: said(state, "thinking", chunk.content, chunk.scope ?? ROOT) };
    case "retract":
      return { ...state, parts: retracted(state.parts, chunk.chars, chunk.thinking_chars) };
    case "source": {
      const { title, location, passage } = chunk;
      const isKnown = state.sources.some((one) => one.location === location);
      return isKnown ? state : { ...state, sources: [...state.sources, { title, location, passage }] };
    }
    case "tool_call":
      return withPart(state, {
        kind: "tool",
        callId: chunk.call_id,
        tool: chunk.tool,
        arguments: chunk.arguments,
        scope: chunk.scope ?? ROOT,
        result: null,
      });
    case "tool_result": {
      const result = { status: chunk.status, text: textOf(chunk.result), isError: chunk.is_error };
      return { ...state, parts: finished(state.parts, chunk.call_id, result) };
    }
    case "context_update":
      return contextUpdated(state, chunk);
    case "system": {
      const { system_type, system_message, metadata } = chunk;
      const scope = chunk.scope ?? ROOT;
      return withPart(state, { kind: "system", scope, system_type, system_message, metadata });
    }
    case "budget":
      return { ...state, budget: chunk, clock: { ranS: 0, sinceS: chunk.at } };
    case "grant":
      return withPart(
        { ...state, budget: state.budget && granted(state.budget, chunk.added) },
        { kind: "grant", added: chunk.added, by: chunk.by, why: chunk.why },
      );
    case "signal": {
      const { turn, signal_type, reason, confidence } = chunk;
      const signals = [...state.signals, { turn, signal_type, reason, confidence }];
      return { ...state, signals: signals.slice(-MOST_SIGNALS) };
    }
    case "tree":
      return { ...state, tree: chunk.tree };
    case "trace":
      return (chunk.scope ?? ROOT) === ROOT
        ? { ...state, statuses: { ...state.statuses, ...statusesOf(chunk.steps) } }
        : state;
    case "running":
      return { ...state, running: { path: chunk.path, names: chunk.names } };
    case "worker":
      return {
        ...state,
        hasWorker: chunk.is_there,
        clock: chunk.is_there
          ? { ...state.clock, sinceS: state.clock.sinceS ?? chunk.at }
          : stopped(state.clock, chunk.at),
      };
    case "paused":
      return { ...state, clock: stopped(state.clock, chunk.at), running: null };
    case "resumed":
      return { ...state, ending: null, clock: { ...state.clock, sinceS: chunk.at } };
    case "error":
      return withPart(state, { kind: "error", code: chunk.code, message: chunk.message });
    case "done": {
      const { type: _, ...ending } = chunk;
      return { ...state, ending, running: null };
    }
    default:
      return state; // a type that came later than this page
  }
}

/** Seconds on the run's own clock. */
export function elapsedS(state: RunState, nowS: number): number {
  const { ranS, sinceS } = state.clock;
  return sinceS === null || state.ending !== null ? ranS : ranS + Math.max(0, nowS - sinceS);
}

/** What the run said at last, if that is not what its text shows already. */
export function unseenAnswer(state: RunState): string | null {
  const answer = state.ending?.answer.trim() ?? "";
  if (answer === "") return null;
  const shown = state.parts
    .map((part) => (part.kind === "text" && part.scope === ROOT ? part.text : ""))
    .join("");
  return squeezed(shown).includes(squeezed(answer)) ? null : answer;
}

function squeezed(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

function withPart(state: RunState, part: Part): RunState {
  return { ...state, parts: [...state.parts, part] };
}

/**
 * Text goes on in its part while nothing else comes between; a new turn begins a new one. What we say ourselves does
 * not come between: the last words of a reply may be told after what was found in it.
 */
function said(state: RunState, kind: "text" | "thinking", text: string, scope: string): readonly Part[] {
  const place = state.parts.findLastIndex((part) => part.kind !== "system");
  const last = state.parts[place];
  if (last?.kind === kind && last.turn === state.turn && last.scope === scope) {
    const { parts } = state;
    return [...parts.slice(0, place), { ...last, text: last.text + text }, ...parts.slice(place + 1)];
  }
  return [...state.parts, { kind, text, turn: state.turn, scope }];
}

/** The last characters of the run's own text and thinking are taken back. Counted as the server counts. */
function retracted(parts: readonly Part[], chars: number, thinkingChars: number): readonly Part[] {
  const left = { text: chars, thinking: thinkingChars };
  const kept: Part[] = [];
  for (const part of [...parts].reverse()) {
    if ((part.kind !== "text" && part.kind !== "thinking") || part.scope !== ROOT || left[part.kind] === 0) {
      kept.push(part);
      continue;
    }
    const points = Array.from(part.text);
    const cut = Math.min(left[part.kind], points.length);
    left[part.kind] -= cut;
    if (cut < points.length) kept.push({ ...part, text: points.slice(0, points.length - cut).join("") });
  }
  return kept.reverse();
}

function finished(parts: readonly Part[], callId: string, result: ToolUse["result"]): readonly Part[] {
  return parts.map((part) =>
    part.kind === "tool" && part.callId === callId && part.result === null ? { ...part, result } : part,
  );
}

function contextUpdated(state: RunState, chunk: Extract<Chunk, { type: "context_update" }>): RunState {
  const isOwn = (chunk.scope ?? ROOT) === ROOT;
  if (chunk.input_tokens === undefined) {
    if (chunk.turn === undefined || !isOwn) return state;
    const used = { ...state.used, turns: Math.max(state.used.turns, chunk.turn + 1) };
    return { ...state, turn: chunk.turn, isLastTurn: chunk.is_last_turn ?? false, used };
  }
  const cost = chunk.cost_usd ?? null;
  return {
    ...state,
    unknownCostCalls: state.unknownCostCalls + (cost === null ? 1 : 0),
    used: {
      ...state.used,
      tokens: state.used.tokens + chunk.input_tokens + (chunk.output_tokens ?? 0),
      model_calls: state.used.model_calls + 1,
      cost_usd: state.used.cost_usd + Number(cost ?? 0),
    },
  };
}

function granted(budget: BudgetGiven, added: Amounts): BudgetGiven {
  const limits = { ...budget.limits };
  for (const [name, more] of Object.entries(added) as [Meter, number | string][]) {
    const before = limits[name];
    if (before !== undefined) limits[name] = Number(before) + Number(more);
  }
  return { ...budget, limits };
}

function stopped(clock: RunState["clock"], atS: number): RunState["clock"] {
  return { ranS: clock.ranS + (clock.sinceS === null ? 0 : Math.max(0, atS - clock.sinceS)), sinceS: null };
}

function textOf(result: unknown): string {
  return typeof result === "string" ? result : (JSON.stringify(result, null, 2) ?? "");
}
