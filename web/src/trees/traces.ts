/** What the nodes of a run's tree did, turn by turn, from the facts of its record. Pure. */
import { ROOT } from "@/stream/run-state";
import { type Statuses, statusesOf } from "@/stream/statuses";

/** One note of the record. Turns are counted from 0 there. */
export type Trace = { turn: number; steps: readonly string[]; dropped: number; errors: readonly string[] };

export type TracedTurn = { turn: number; statuses: Statuses; dropped: number; errors: readonly string[] };

type Fact = Readonly<Record<string, unknown>>;

/** The notes of the run's own tree among some facts; those of its sub-agents have trees of their own. */
export function tracesIn(facts: readonly Fact[]): Trace[] {
  return facts.flatMap((fact) => {
    const { payload } = fact;
    if (fact.type !== "tree.traced" || typeof payload !== "object" || payload === null) return [];
    const found: Fact = { ...payload };
    if ((found.scope ?? ROOT) !== ROOT || typeof found.turn !== "number") return [];
    return [
      {
        turn: found.turn,
        steps: texts(found.steps),
        dropped: typeof found.dropped === "number" ? found.dropped : 0,
        errors: texts(found.errors),
      },
    ];
  });
}

/** The number of the last of some facts, from which on one can ask for more. */
export function lastSeq(facts: readonly Fact[]): number | null {
  const seq = facts.at(-1)?.seq;
  return typeof seq === "number" ? seq : null;
}

/** One for each turn, in order. What came after the last turn was noted with it. */
export function byTurn(traces: readonly Trace[]): TracedTurn[] {
  const turns = new Map<number, TracedTurn>();
  for (const trace of traces) {
    const before = turns.get(trace.turn);
    turns.set(trace.turn, {
      turn: trace.turn,
      statuses: { ...before?.statuses, ...statusesOf(trace.steps) },
      dropped: (before?.dropped ?? 0) + trace.dropped,
      errors: [...(before?.errors ?? []), ...trace.errors],
    });
  }
  return [...turns.values()].sort((one, other) => one.turn - other.turn);
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
