/** What a run said and did, arranged to be read: calls in a row together, sub-agents apart. Pure. */
import { type Part, ROOT, type RunState, type ToolUse } from "@/stream/run-state";

export type Item = Exclude<Part, ToolUse> | { kind: "tools"; uses: readonly ToolUse[] };
/** What came from one agent without another in between. */
export type Section = { scope: string; items: readonly Item[] };

const MOST_ARGUMENT_CHARS = 80;

export function sectionsOf(parts: readonly Part[]): Section[] {
  const sections: { scope: string; items: Item[] }[] = [];
  for (const part of parts) {
    const scope = "scope" in part ? part.scope : ROOT;
    let section = sections.at(-1);
    if (section === undefined || section.scope !== scope) {
      section = { scope, items: [] };
      sections.push(section);
    }
    const last = section.items.at(-1);
    if (part.kind !== "tool") section.items.push(part);
    else if (last?.kind === "tools")
      section.items[section.items.length - 1] = { kind: "tools", uses: [...last.uses, part] };
    else section.items.push({ kind: "tools", uses: [part] });
  }
  return sections;
}

/** "run/reader-1/checker-2" → "checker-2", two deep. The run itself has no name. */
export function scopeOf(scope: string): { name: string; depth: number } {
  const names = scope.split("/");
  return scope === ROOT
    ? { name: "", depth: 0 }
    : { name: names.at(-1) ?? scope, depth: Math.max(1, names.length - 1) };
}

/** Models give arguments as JSON in a text; where that can be read, what it says. */
export function readArguments(given: unknown): unknown {
  if (typeof given !== "string" || !/^\s*[{[]/.test(given)) return given;
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}

/** The arguments of a call in one short line. */
export function shortArguments(given: unknown): string {
  const text = oneLine(readArguments(given)).replace(/\s+/g, " ").trim();
  const points = Array.from(text);
  return points.length > MOST_ARGUMENT_CHARS ? `${points.slice(0, MOST_ARGUMENT_CHARS - 1).join("")}…` : text;
}

function oneLine(given: unknown): string {
  if (given === null || given === undefined) return "";
  if (typeof given === "string") return given;
  if (typeof given !== "object" || Array.isArray(given)) return JSON.stringify(given);
  const named = Object.entries(given);
  const [first] = named;
  if (named.length === 1 && first !== undefined && typeof first[1] === "string") return first[1];
  return named
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}

export type CallStanding = "working" | "done" | "failed" | "held";

/** How a call stands; `held` was not carried out. */
export function callStanding(use: ToolUse, isRunning: boolean): { standing: CallStanding; word: string } {
  if (use.result === null) {
    return isRunning ? { standing: "working", word: "working" } : { standing: "held", word: "no result" };
  }
  switch (use.result.status) {
    case "executed":
      return use.result.isError ? { standing: "failed", word: "failed" } : { standing: "done", word: "done" };
    case "timed_out":
      return { standing: "failed", word: "timed out" };
    case "refused":
    case "skipped":
      return { standing: "held", word: use.result.status };
    case "tripped":
      return { standing: "held", word: "not run: it failed too often" };
    default:
      return {
        standing: use.result.isError ? "failed" : "done",
        word: use.result.status.replaceAll("_", " "),
      };
  }
}

/** What the run does just now, in a word or two. */
export function doingNow({ parts, hasWorker }: Pick<RunState, "parts" | "hasWorker">): string {
  const last = parts.at(-1);
  if (!hasWorker) return isInMid(last) ? "Its worker is silent, waiting for another" : "Waiting for a worker";
  if (last?.kind === "thinking") return "Thinking";
  if (last?.kind === "text") return "Answering";
  if (last?.kind === "tool" && last.result === null) return `Using ${last.tool}`;
  return "Working";
}

/** Somebody was at it: words that were not at their end by what we know, or a call without a result. */
function isInMid(last: Part | undefined): boolean {
  return (
    last?.kind === "text" || last?.kind === "thinking" || (last?.kind === "tool" && last.result === null)
  );
}
