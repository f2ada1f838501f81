/** What a session is doing now, of what its stream has told last. Pure. */
import type { Part } from "@/stream/run-state";
import { capital } from "@/words/format";

const MOST_CHARS = 120;

/** "Builder 2: edit_file clock.py". Null before anything was told. */
export function activityOf(parts: readonly Part[]): { who: string; what: string } | null {
  for (const part of [...parts].reverse()) {
    if (part.kind === "tool") {
      return { who: whoOf(part.scope), what: [part.tool, subjectOf(part.arguments)].join(" ").trim() };
    }
    if (part.kind === "text" || part.kind === "thinking") {
      const last = part.text.trim().split("\n").at(-1)?.trim() ?? "";
      if (last !== "") return { who: whoOf(part.scope), what: cut(last) };
    }
  }
  return null;
}

/** "run/builder 2" is the builder's: "Builder 2". */
function whoOf(scope: string): string {
  return capital(scope.split("/").at(-1) ?? scope);
}

/** What a tool is used on, if its arguments say so in a word. */
function subjectOf(given: unknown): string {
  if (typeof given !== "object" || given === null) return "";
  for (const name of ["path", "query", "command"]) {
    const value = (given as Record<string, unknown>)[name];
    if (typeof value === "string") return cut(value.split("\n", 1)[0] ?? "");
  }
  return "";
}

function cut(text: string): string {
  return text.length <= MOST_CHARS ? text : `${text.slice(0, MOST_CHARS - 1)}…`;
}
