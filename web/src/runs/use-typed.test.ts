// @vitest-environment jsdom
import { act, cleanup, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { useTyped } from "./use-typed";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

function typing() {
  const put = vi.fn();
  const { result, rerender } = renderHook(({ text }) => useTyped(text, put), { initialProps: { text: "" } });
  return {
    put,
    shown: () => result.current[0],
    type: (text: string) => act(() => result.current[1](text)),
    wait: (ms: number) => act(() => vi.advanceTimersByTime(ms)),
    addressIs: (text: string) => rerender({ text }),
  };
}

it("puts what was typed into the address once, after a pause", () => {
  const { put, type, wait, shown } = typing();
  type("l");
  wait(200);
  type("li");
  wait(200);
  expect(put).not.toHaveBeenCalled();
  wait(200);
  expect(put.mock.calls).toEqual([["li"]]);
  expect(shown()).toBe("li");
});

it("keeps what is typed on while the address catches up", () => {
  const { put, type, wait, shown, addressIs } = typing();
  type("li");
  wait(300);
  type("lim");
  addressIs("li");
  expect(shown()).toBe("lim");
  wait(300);
  expect(put).toHaveBeenLastCalledWith("lim");
});

it("shows what the back and forward buttons bring", () => {
  const { put, type, wait, shown, addressIs } = typing();
  type("li");
  wait(300);
  addressIs("li");
  addressIs("");
  expect(shown()).toBe("");
  addressIs("li");
  expect(shown()).toBe("li");
  wait(1_000);
  expect(put).toHaveBeenCalledTimes(1);
});
