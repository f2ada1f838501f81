/** What a run's stream tells (I1, I2). Types that are not known here are left out: new ones may come. */

export type Amounts = Partial<Record<Meter, number | string>>;
export type Meter = "turns" | "tokens" | "cost_usd" | "seconds" | "model_calls";

export type SystemType = "limit_warning" | "limit_reached" | "no_progress" | "error_limit";

type Scoped = { scope?: string };

export type Chunk =
  | ({ type: "thinking"; content: string } & Scoped)
  | ({ type: "content"; content: string } & Scoped)
  | ({ type: "source"; title: string; location: string; passage: string } & Scoped)
  | ({ type: "tool_call"; call_id: string; tool: string; arguments: unknown } & Scoped)
  | ({
      type: "tool_result";
      call_id: string;
      tool: string;
      status: string;
      result: unknown;
      is_error: boolean;
    } & Scoped)
  | ({
      type: "context_update";
      turn?: number;
      is_last_turn?: boolean;
      input_tokens?: number;
      output_tokens?: number;
      cost_usd?: string | null;
      context_tokens?: number;
    } & Scoped)
  | ({ type: "system" } & SystemMessage & Scoped)
  | { type: "retract"; turn: number; chars: number; thinking_chars: number }
  | ({ type: "budget" } & BudgetGiven)
  | { type: "grant"; added: Amounts; by: string; why: string }
  | ({ type: "signal" } & Signal & Scoped)
  | { type: "tree"; tree: string; hash: string }
  | ({ type: "trace"; turn: number; steps: string[] } & Scoped)
  | { type: "running"; path: number[]; names: string[] }
  | { type: "worker"; is_there: boolean; at: number }
  | { type: "paused"; why: string; at: number }
  | { type: "resumed"; why?: string; at: number }
  | { type: "error"; code: string; message: string }
  | ({ type: "done" } & Ending);

export type SystemMessage = {
  system_type: SystemType;
  system_message: string;
  metadata: {
    current_value: number | string;
    limit_value: number | string;
    percent: number;
    limit_type: string;
  };
};

export type BudgetGiven = {
  limits: Amounts;
  warn_percent: Partial<Record<Meter, number>>;
  reserve_percent: number | null;
  model: string;
  at: number;
};

export type Signal = { turn: number; signal_type: string; reason: string | null; confidence: number | null };

export type Outcome =
  | "completed"
  | "forced"
  | "stopped"
  | "abandoned"
  | "cancelled"
  | "failed"
  | "under_review"
  | "awaiting_user";

export type Ending = {
  outcome: Outcome;
  answer: string;
  is_forced: boolean;
  warnings: string[];
  reason?: string;
  rule?: string;
  next_steps?: string[];
  review_id?: string;
  question?: string;
};

/** The chunk in the data of an event; null for what is none, so that one bad event does not hold up the rest. */
export function chunkOf(data: string): Chunk | null {
  try {
    const found: unknown = JSON.parse(data);
    return typeof found === "object" && found !== null && "type" in found ? (found as Chunk) : null;
  } catch {
    return null;
  }
}
