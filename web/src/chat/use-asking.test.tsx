// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { createMemoryRouter, RouterProvider } from "react-router";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Question } from "./asking";
import { conversationKey } from "./conversation-queries";
import { draftOf, keep, kept } from "./kept";
import { useAsking, withQuestion } from "./use-asking";

const QUESTION: Question = { query: "Why?", conversationId: null, model: null, turns: null };
const HEADERS = { "X-Run-Id": "run_1", "X-Conversation-Id": "c1" };

let queries: QueryClient;

function asking() {
  queries = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={queries}>
      <RouterProvider router={createMemoryRouter([{ path: "*", element: children }])} />
    </QueryClientProvider>
  );
  return renderHook(() => useAsking(null, undefined), { wrapper });
}

function answering(answer: () => Promise<Response>) {
  const fetch = vi.fn<typeof globalThis.fetch>().mockImplementation(answer);
  vi.stubGlobal("fetch", fetch);
  return fetch;
}

beforeEach(() => keep(draftOf(null), QUESTION.query));
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

it("sends once, however often Enter is pressed, and shows the question at once", async () => {
  const fetch = answering(() => new Promise(() => undefined));
  const { result } = asking();
  act(() => {
    result.current.ask(QUESTION);
    result.current.ask(QUESTION);
  });
  await waitFor(() => expect(result.current.pending).toBe("Why?"));
  expect(fetch).toHaveBeenCalledTimes(1);
});

it("puts the question into its conversation, and forgets the draft", async () => {
  answering(async () => new Response("", { headers: HEADERS }));
  const { result } = asking();
  act(() => result.current.ask(QUESTION));
  await waitFor(() => expect(kept(draftOf(null))).toBe(""));
  expect(queries.getQueryData(conversationKey("c1"))).toMatchObject({
    exchanges: [{ run_id: "run_1", question: "Why?", phase: "RUNNING" }],
  });
});

it("keeps the draft and says why when it was not taken, and can be tried again", async () => {
  const error = { code: "too_many", what: "Too many", allowed: "", to_do: "" };
  const fetch = answering(async () => Response.json({ error }, { status: 429 }));
  const { result } = asking();
  act(() => result.current.ask(QUESTION));
  await waitFor(() => expect(result.current.problem?.status).toBe(429));
  expect(kept(draftOf(null))).toBe("Why?");
  expect(result.current.pending).toBeNull();
  act(() => result.current.ask(QUESTION));
  await waitFor(() => expect(fetch).toHaveBeenCalledTimes(2));
});

it("does not put a question twice into a conversation that has it already", () => {
  const once = withQuestion(undefined, { runId: "run_1", conversationId: "c1" }, "Why?");
  expect(withQuestion(once, { runId: "run_1", conversationId: "c1" }, "Why?")).toBe(once);
});
