// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { MemoryRouter } from "react-router";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Schemas } from "@/api/client";
import { Exchange } from "./exchange";

/** The client keeps the `fetch` it finds when it is loaded: so there has to be one of ours by then. */
const server = vi.hoisted(() => {
  const made = {
    answer: (_: string | Request): Promise<Response> => Promise.reject(new Error("not set up")),
  };
  globalThis.fetch = (given) => made.answer(given instanceof URL ? given.href : given);
  return made;
});

const CALL = { type: "tool_call", call_id: "1", tool: "read_file", arguments: '{"path":"a.py"}' };
const DONE = { type: "done", outcome: "completed", answer: "It is so.", is_forced: false, warnings: [] };
const PAUSED = {
  ...DONE,
  outcome: "under_review",
  answer: "",
  reason: "Iteration limit reached",
  review_id: "review:1",
};

let asked: { path: string; body: string }[] = [];
let streams: Record<string, object[]> = {};
let refusal: number | null = null;

beforeAll(async () => void (await import("@/ui/markdown-block")), 30_000);
beforeEach(() => {
  asked = [];
  refusal = null;
  server.answer = async (given) => {
    const request = typeof given === "string" ? null : given;
    const path = new URL(request?.url ?? String(given), "http://x").pathname;
    asked.push({ path, body: request?.method === "POST" ? await request.text() : "" });
    const run = /runs\/(\w+)\/stream$/.exec(path)?.[1];
    if (run !== undefined) {
      const told = (streams[run] ?? []).map((chunk, at) => `id: ${at}.0\ndata: ${JSON.stringify(chunk)}\n\n`);
      return new Response(told.join(""));
    }
    const problem = { error: { code: "no", what: "It was refused", allowed: "", to_do: "" } };
    return refusal === null ? Response.json({}) : Response.json(problem, { status: refusal });
  };
});
afterEach(cleanup);

const exchangeOf = (given: Partial<Schemas["Exchange"]>): Schemas["Exchange"] => ({
  run_id: "run_1",
  question: "Is it so?",
  answer: "It is so.",
  ending: "completed",
  phase: "ENDED",
  started_at: "2026-01-01T00:00:00Z",
  ...given,
});

function shown(exchange: Schemas["Exchange"], isLast: boolean, onAskAgain?: (question: string) => void) {
  return render(
    <QueryClientProvider client={new QueryClient()}>
      <MemoryRouter>
        <Exchange
          exchange={exchange}
          isLast={isLast}
          onBranch={() => undefined}
          {...(onAskAgain === undefined ? {} : { onAskAgain })}
        />
      </MemoryRouter>
    </QueryClientProvider>,
  );
}
const streamed = () => asked.filter(({ path }) => path.endsWith("/stream")).length;

describe("an old exchange", () => {
  it("shows its answer without asking for its stream, and the work when it is opened", async () => {
    streams = { run_old: [CALL, { type: "content", content: "It is so." }, DONE] };
    shown(exchangeOf({ run_id: "run_old" }), false);
    await screen.findByText("It is so.");
    expect(streamed()).toBe(0);
    await userEvent.click(screen.getByRole("button", { name: "Show the work" }));
    expect(await screen.findByRole("button", { name: /read_file/ })).toBeTruthy();
    expect(streamed()).toBe(1);
    expect(screen.getAllByText("It is so.")).toHaveLength(1);
  });

  it("says how it ended, and offers to ask again where it cannot go on", async () => {
    const onAskAgain = vi.fn();
    shown(
      exchangeOf({ run_id: "run_forced", ending: "forced to complete: Token limit reached." }),
      false,
      onAskAgain,
    );
    expect(screen.getByText("Token limit reached.")).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: "Ask again with more turns" }));
    expect(onAskAgain).toHaveBeenCalledWith("Is it so?");
    expect(streamed()).toBe(0);
  });
});

describe("the last exchange", () => {
  it("that completed on its last turn says so, and goes on with one press", async () => {
    const warning =
      "completed, with a warning: Completed on the last turn the iteration limit allowed (12/12).";
    const onGoOn = vi.fn();
    streams = {};
    render(
      <QueryClientProvider client={new QueryClient()}>
        <MemoryRouter>
          <Exchange
            exchange={exchangeOf({ run_id: "run_last_turn", ending: warning })}
            isLast
            onBranch={() => undefined}
            onGoOn={onGoOn}
          />
        </MemoryRouter>
      </QueryClientProvider>,
    );
    expect(screen.getByText(/iteration limit allowed \(12\/12\)/)).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: "Continue with 10 more turns" }));
    expect(onGoOn).toHaveBeenCalledOnce();
  });

  it("that was cancelled before anything was on record does not say that something was kept", async () => {
    const cancelled = { ...DONE, outcome: "cancelled", answer: "", reason: "Cancelled by ana." };
    streams = { run_none: [cancelled], run_some: [CALL, cancelled] };
    const given = { answer: null, ending: null, phase: "RUNNING" } as const;
    shown(exchangeOf({ ...given, run_id: "run_none" }), true);
    expect(await screen.findByText(/There was nothing to keep yet/)).toBeTruthy();
    cleanup();
    shown(exchangeOf({ ...given, run_id: "run_some" }), true);
    expect(await screen.findByText(/What it said and did until then is kept/)).toBeTruthy();
  });

  it("has its answer at once, before its stream has told anything", () => {
    streams = {};
    const { container } = shown(exchangeOf({ run_id: "run_slow" }), true);
    expect(container.textContent).toContain("It is so.");
  });

  it("that waits goes on with one press, and cannot be pressed twice", async () => {
    streams = { run_paused: [CALL, PAUSED] };
    shown(exchangeOf({ run_id: "run_paused", answer: null, ending: null, phase: "BUDGET_REVIEW" }), true);
    const button = await screen.findByRole<HTMLButtonElement>("button", {
      name: "Continue with 10 more turns",
    });
    await userEvent.dblClick(button);
    await waitFor(() => expect(asked.some(({ path }) => path.endsWith("/resume"))).toBe(true));
    const resumed = asked.filter(({ path }) => path.endsWith("/resume"));
    expect(resumed).toHaveLength(1);
    expect(JSON.parse(resumed[0]?.body ?? "")).toMatchObject({
      grant: { turns: 10, why: "continued in the chat" },
    });
    expect(button.disabled).toBe(true);
  });

  it("says why it could not go on, and lets one try again", async () => {
    streams = { run_refused: [CALL, PAUSED] };
    refusal = 409;
    shown(exchangeOf({ run_id: "run_refused", answer: null, ending: null, phase: "BUDGET_REVIEW" }), true);
    await userEvent.click(await screen.findByRole("button", { name: "Continue with 10 more turns" }));
    expect(await screen.findByText("It was refused.")).toBeTruthy();
    expect(screen.getByRole("button", { name: "Try again" })).toBeTruthy();
  });
});
