// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { useStopping } from "./use-stopping";

// The client takes the browser's fetch when it is made: ours has to be there before.
const fetch = vi.hoisted(() => {
  const standIn = vi.fn<(request: Request) => Promise<Response>>();
  vi.stubGlobal("fetch", standIn);
  return standIn;
});

function stopping(isUnderWay: boolean, status = 200) {
  const error = { code: "run_state", what: "It has ended", allowed: "", to_do: "" };
  const body = status === 200 ? { run_id: "r", is_done: true } : { error };
  fetch.mockReset().mockImplementation(async () => Response.json(body, { status }));
  const queries = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={queries}>{children}</QueryClientProvider>
  );
  return renderHook(() => useStopping("r", isUnderWay), { wrapper });
}

const pressEscape = () => fireEvent.keyDown(window, { key: "Escape" });

afterEach(() => {
  cleanup();
  document.body.replaceChildren();
});

it("stops at once with Esc, and only once", async () => {
  const { result } = stopping(true);
  pressEscape();
  pressEscape();
  await waitFor(() => expect(fetch).toHaveBeenCalled());
  expect(await fetch.mock.calls[0]?.[0].json()).toEqual({ after_turn: false });
  expect(fetch).toHaveBeenCalledTimes(1);
  expect(result.current.stopping).toBe("now");
});

it("asks again while the run goes on, for whoever was asked may have died, and no longer", async () => {
  vi.useFakeTimers();
  try {
    const { result, unmount } = stopping(true);
    act(() => result.current.stop(true));
    await act(() => vi.advanceTimersByTimeAsync(5_100));
    expect(fetch).toHaveBeenCalledTimes(2);
    expect(await fetch.mock.calls[1]?.[0].json()).toEqual({ after_turn: true });
    unmount();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(fetch).toHaveBeenCalledTimes(2);
  } finally {
    vi.useRealTimers();
  }
});

it("leaves Esc to a dialog that is open", async () => {
  stopping(true);
  const dialog = document.createElement("div");
  dialog.setAttribute("role", "dialog");
  document.body.append(dialog);
  pressEscape();
  await act(async () => undefined);
  expect(fetch).not.toHaveBeenCalled();
});

it("has nothing to stop when nothing is under way", async () => {
  stopping(false);
  pressEscape();
  await act(async () => undefined);
  expect(fetch).not.toHaveBeenCalled();
});

it("can stop now after it was asked to stop after the turn", async () => {
  const { result } = stopping(true);
  act(() => result.current.stop(true));
  await waitFor(() => expect(result.current.stopping).toBe("after_turn"));
  pressEscape();
  await waitFor(() => expect(fetch).toHaveBeenCalledTimes(2));
  expect(result.current.stopping).toBe("now");
});

it("says why it was refused, and can be tried again", async () => {
  const { result } = stopping(true, 409);
  act(() => result.current.stop(false));
  await waitFor(() => expect(result.current.problem?.message).toBe("It has ended"));
  expect(result.current.stopping).toBe("no");
});
