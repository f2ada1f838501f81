/** Sends a question, and learns which run answers it. */
import { keyHeaders } from "@/api/key";
import { asProblem, Problem, problemOf } from "@/api/problem";

export type Question = {
  query: string;
  /** Null for a new conversation. */
  conversationId: string | null;
  /** Null for the configured one. */
  model: string | null;
  /** So many turns, if not as many as the settings say. */
  turns: number | null;
};
export type Asked = { runId: string; conversationId: string };

/** A question that was not taken. */
export class NotAsked extends Problem {
  /** When it may be tried again, in milliseconds since 1970; null if the server does not say. */
  readonly notBefore: number | null;

  constructor(problem: Problem, notBefore: number | null) {
    super(problem.status, problem.detail);
    this.notBefore = notBefore;
  }
}

/**
 * The answer streams in the response, too; we only read its head, and hang up. The run does not mind, and is
 * followed by its own stream, like one that was begun elsewhere.
 */
export async function ask(question: Question): Promise<Asked> {
  const hangUp = new AbortController();
  const response = await sent(question, hangUp.signal);
  const runId = response.headers.get("X-Run-Id");
  const conversationId = response.headers.get("X-Conversation-Id");
  hangUp.abort();
  if (runId === null || conversationId === null) throw new NotAsked(problemOf(response.status, null), null);
  return { runId, conversationId };
}

async function sent(question: Question, signal: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch("/api/oracle/query", {
      method: "POST",
      headers: { ...keyHeaders(), "Content-Type": "application/json", Accept: "text/event-stream" },
      body: JSON.stringify(bodyOf(question)),
      signal,
      cache: "no-store",
    });
  } catch (error) {
    throw new NotAsked(asProblem(error), null);
  }
  if (response.ok) return response;
  const problem = problemOf(response.status, await response.json().catch(() => null));
  throw new NotAsked(problem, notBefore(response.headers.get("Retry-After"), Date.now()));
}

export function bodyOf({ query, conversationId, model, turns }: Question): Record<string, unknown> {
  return {
    query,
    // At a limit it pauses, so that it can be continued.
    on_limit: "review",
    ...(conversationId === null ? {} : { conversation_id: conversationId }),
    ...(model === null ? {} : { model }),
    ...(turns === null ? {} : { limits: { max_iterations: turns } }),
  };
}

export function notBefore(retryAfter: string | null, now: number): number | null {
  const seconds = retryAfter === null ? Number.NaN : Number(retryAfter);
  return Number.isFinite(seconds) && seconds > 0 ? now + seconds * 1_000 : null;
}
