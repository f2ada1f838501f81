// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, renderHook } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { useLookAgain, useReadAgain } from "./run-actions";
import { followerOf } from "./use-run";

// The client takes the browser's fetch when it is made: ours has to be there before. It never answers.
const fetch = vi.hoisted(() => {
  const standIn = vi.fn(() => new Promise<Response>(() => undefined));
  vi.stubGlobal("fetch", standIn);
  return standIn;
});

const SHOWN = [["runs", "all"], ["reviews"], ["conversation", "c"], ["run", "r"], ["run", "r", "timeline"]];
const OTHERS = [["run", "other"], ["settings"]];

function rendered(useIt: (runId: string) => () => Promise<void>) {
  const queries = new QueryClient();
  for (const key of [...SHOWN, ...OTHERS]) queries.setQueryData(key, {});
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={queries}>{children}</QueryClientProvider>
  );
  const again = renderHook(() => useIt("r"), { wrapper }).result.current;
  const isOld = (keys: string[][]) => keys.map((key) => queries.getQueryState(key)?.isInvalidated);
  return { again, isOld };
}

afterEach(() => {
  cleanup();
  fetch.mockClear();
});

it("has all that shows the run read again, and nothing else", async () => {
  const { again, isOld } = rendered(useReadAgain);
  await again();
  expect(isOld(SHOWN)).toEqual(SHOWN.map(() => true));
  expect(isOld(OTHERS)).toEqual(OTHERS.map(() => false));
});

it("leaves the stream alone when the run is only read again, and follows it anew when looked at again", async () => {
  const leave = followerOf("r").subscribe(() => undefined);
  await rendered(useReadAgain).again();
  expect(fetch).toHaveBeenCalledTimes(1);
  await rendered(useLookAgain).again();
  expect(fetch).toHaveBeenCalledTimes(2);
  leave();
});
