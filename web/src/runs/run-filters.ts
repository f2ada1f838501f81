/** What the list of runs is narrowed to. It lives in the address: a reload and the back button keep it. */
import type { Run } from "./run-shapes";

export type Phase = Run["phase"];
export const ENDED = ["completed", "forced", "stopped", "abandoned", "cancelled", "failed"] as const;
export type Ended = (typeof ENDED)[number];

export type RunFilters = {
  phase: Phase | null;
  ended: Ended | null;
  agent: string | null;
  text: string;
};

export const PHASES: readonly Phase[] = ["RUNNING", "BUDGET_REVIEW", "AWAIT_USER", "ENDED"];
/** As much as the server takes. */
const MOST_CHARS = 1_000;

/** The filters of an address. What nobody can mean is left out, so that an old link still shows something. */
export function filtersOf(params: URLSearchParams): RunFilters {
  const phase = PHASES.find((one) => one === params.get("phase")) ?? null;
  const ended = ENDED.find((one) => one === params.get("ended")) ?? null;
  return {
    phase,
    ended: phase === null || phase === "ENDED" ? ended : null,
    agent: params.get("agent")?.slice(0, MOST_CHARS) || null,
    text: (params.get("text") ?? "").slice(0, MOST_CHARS),
  };
}

/** The address of filters: only what narrows stands in it. */
export function paramsOf(filters: RunFilters): URLSearchParams {
  const params = new URLSearchParams();
  if (filters.phase) params.set("phase", filters.phase);
  if (filters.ended) params.set("ended", filters.ended);
  if (filters.agent) params.set("agent", filters.agent);
  if (filters.text !== "") params.set("text", filters.text);
  return params;
}

/** One filter changed. A run that ended in some way has ended: filters that exclude each other are not kept. */
export function changed(filters: RunFilters, change: Partial<RunFilters>): RunFilters {
  const after = { ...filters, ...change };
  if (after.ended === null || after.phase === null || after.phase === "ENDED") return after;
  return change.ended ? { ...after, phase: null } : { ...after, ended: null };
}

export function isNarrowed(filters: RunFilters): boolean {
  return (
    filters.phase !== null || filters.ended !== null || filters.agent !== null || filters.text.trim() !== ""
  );
}
