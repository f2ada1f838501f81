// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { ask, bodyOf, NotAsked, notBefore, type Question } from "./asking";

const QUESTION: Question = { query: "Why?", conversationId: null, model: null, turns: null };

function answering(response: Response) {
  const fetch = vi.fn<typeof globalThis.fetch>().mockResolvedValue(response);
  vi.stubGlobal("fetch", fetch);
  return fetch;
}

afterEach(() => vi.unstubAllGlobals());

it("pauses at a limit, so that one can continue", () => {
  expect(bodyOf(QUESTION)).toEqual({ query: "Why?", on_limit: "review" });
});

it("says which conversation, model and limit only when they were chosen", () => {
  const body = bodyOf({ query: "Why?", conversationId: "c1", model: "playground:runaway", turns: 40 });
  expect(body).toEqual({
    query: "Why?",
    on_limit: "review",
    conversation_id: "c1",
    model: "playground:runaway",
    limits: { max_iterations: 40 },
  });
});

it("learns the run from the head of the answer, and hangs up without reading it", async () => {
  const body = new ReadableStream({ pull: () => new Promise(() => undefined) });
  const headers = { "X-Run-Id": "run_1", "X-Conversation-Id": "c1" };
  const fetch = answering(new Response(body, { headers }));
  await expect(ask(QUESTION)).resolves.toEqual({ runId: "run_1", conversationId: "c1" });
  expect(fetch.mock.calls[0]?.[1]?.signal?.aborted).toBe(true);
});

it("says why it was refused, and when to come back", async () => {
  const error = { code: "too_many", what: "Too many", allowed: "8 at once", to_do: "Wait" };
  answering(Response.json({ error }, { status: 429, headers: { "Retry-After": "5" } }));
  const refused = await ask(QUESTION).catch((reason: unknown) => reason);
  expect(refused).toBeInstanceOf(NotAsked);
  expect(refused).toMatchObject({ status: 429, detail: { what: "Too many" }, notBefore: expect.any(Number) });
});

it("says that the server cannot be reached", async () => {
  vi.stubGlobal("fetch", vi.fn().mockRejectedValue(new TypeError("Failed to fetch")));
  await expect(ask(QUESTION)).rejects.toMatchObject({
    status: 0,
    detail: { code: "unreachable" },
    notBefore: null,
  });
});

it("takes an answer without a run for a failure", async () => {
  answering(new Response(""));
  await expect(ask(QUESTION)).rejects.toBeInstanceOf(NotAsked);
});

it.each([
  ["5", 6_000],
  ["0", null],
  ["soon", null],
  [null, null],
])("reads Retry-After %s", (header, expected) => {
  expect(notBefore(header, 1_000)).toBe(expected);
});
