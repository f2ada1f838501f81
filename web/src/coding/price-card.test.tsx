// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { PriceCard } from "./price-card";
import type { Price } from "./shapes";

// The client takes the browser's fetch when it is made: ours has to be there before.
const fetch = vi.hoisted(() => {
  const standIn = vi.fn<(request: Request) => Promise<Response>>();
  vi.stubGlobal("fetch", standIn);
  return standIn;
});

const PRICE: Price = {
  cycle: 1,
  price_usd: "1.58",
  tokens: 230_000,
  model_calls: 25,
  minutes: 5,
  why: "Two rounds, to be safe.",
  verdict: "ask",
  alternatives: [],
};
const TOO_DEAR: Price = {
  ...PRICE,
  price_usd: "40.50",
  verdict: "rejected",
  alternatives: [
    { kind: "smaller_scope", what: "Invoices only.", price_usd: "1.58" },
    { kind: "phases", what: "One after the other.", price_usd: null },
  ],
};

/** What was answered to the server, in turn. */
function shown(price: Price, answer: () => Promise<Response>, notUnderstood: string | null = null): string[] {
  const answers: string[] = [];
  fetch.mockImplementation(async (request) => {
    answers.push((await request.json()).answer);
    return answer();
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <PriceCard
        runId="run_1"
        price={price}
        title="Hours"
        rules={{ auto_proceed_under_usd: "1", reject_over_usd: "5" }}
        notUnderstood={notUnderstood}
      />
    </QueryClientProvider>,
  );
  return answers;
}

afterEach(cleanup);

it("approves a price once, however often the button is pressed", async () => {
  const answers = shown(PRICE, () => new Promise(() => undefined));
  const approve = screen.getByRole("button", { name: "Approve $1.58" });
  await userEvent.click(approve);
  await userEvent.click(approve);
  await waitFor(() => expect(answers).toEqual(["yes"]));
  expect(screen.getByRole<HTMLButtonElement>("button", { name: /Reject/ }).disabled).toBe(true);
});

it("answers with the number of an alternative, as the session counts them", async () => {
  const answers = shown(TOO_DEAR, () => new Promise(() => undefined));
  expect(screen.queryByRole("button", { name: /Approve/ })).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Choose this: Phases" }));
  await waitFor(() => expect(answers).toEqual(["2"]));
});

it("says that a price is unknown, and of an alternative, too", () => {
  shown({ ...TOO_DEAR, price_usd: null }, () => new Promise(() => undefined));
  expect(screen.getByText("Unknown")).toBeTruthy();
  expect(screen.getByText("price unknown")).toBeTruthy();
});

it("says what the policy says, and which answer was not understood", () => {
  shown(PRICE, () => new Promise(() => undefined), "'maybe'");
  expect(screen.getByText(/^Under \$1\.00 nobody is asked/)).toBeTruthy();
  expect(screen.getByRole("status").textContent).toBe("That was not understood: 'maybe'");
});

it("says why an answer was refused, and lets it be tried again", async () => {
  const refusal = { error: { code: "state", what: "It does not wait", allowed: "", to_do: "Look again" } };
  const answers = shown(PRICE, async () => Response.json(refusal, { status: 409 }));
  await userEvent.click(screen.getByRole("button", { name: /Reject/ }));
  expect((await screen.findByRole("alert")).textContent).toContain("It does not wait");
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  await waitFor(() => expect(answers).toEqual(["no", "no"]));
});

it("can be answered again when the same is asked once more", async () => {
  vi.useFakeTimers();
  const answers = shown(PRICE, async () => Response.json({ run_id: "run_1" }, { status: 202 }));
  const reject = screen.getByRole<HTMLButtonElement>("button", { name: /Reject/ });
  fireEvent.click(reject);
  await act(() => vi.advanceTimersByTimeAsync(1_000));
  expect([answers, reject.disabled]).toEqual([["no"], true]);
  await act(() => vi.advanceTimersByTimeAsync(6_000));
  expect(reject.disabled).toBe(false);
  vi.useRealTimers();
});
