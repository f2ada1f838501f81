// @vitest-environment jsdom
import { act, renderHook } from "@testing-library/react";
import { beforeEach, expect, it, vi } from "vitest";
import { draftOf, keep, kept, useKept } from "./kept";

beforeEach(() => window.sessionStorage.clear());

it("keeps drafts of different conversations apart", () => {
  keep(draftOf("a"), "one");
  keep(draftOf(null), "two");
  expect([kept(draftOf("a")), kept(draftOf(null)), kept(draftOf("b"))]).toEqual(["one", "two", ""]);
});

it("finds after a reload what was there before", async () => {
  keep("reloaded", "half a question");
  vi.resetModules();
  const anew = await import("./kept");
  expect(anew.kept("reloaded")).toBe("half a question");
});

it("tells everybody who shows it", () => {
  const { result } = renderHook(() => useKept("shared"));
  act(() => keep("shared", "changed elsewhere"));
  expect(result.current[0]).toBe("changed elsewhere");
});

it("goes on without a place to keep it in", () => {
  vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
    throw new DOMException("full", "QuotaExceededError");
  });
  keep("full", "still here");
  expect(kept("full")).toBe("still here");
});
