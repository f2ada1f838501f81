import { expect, it } from "vitest";
import type { Part } from "@/stream/run-state";
import { activityOf } from "./activity";

const tool = (name: string, given: unknown, scope = "builder 2"): Part => ({
  kind: "tool",
  callId: name,
  tool: name,
  arguments: given,
  scope,
  result: null,
});
const text = (words: string): Part => ({ kind: "text", text: words, turn: 0, scope: "critic 1" });

it("says who uses which tool on what", () => {
  expect(activityOf([text("Hm."), tool("edit_file", { path: "clock.py", new: "x" })])).toEqual({
    who: "Builder 2",
    what: "edit_file clock.py",
  });
});

it("says the last line of what was said, and passes over what says nothing", () => {
  expect(activityOf([text("First.\nThen this.\n"), text("  ")])).toEqual({
    who: "Critic 1",
    what: "Then this.",
  });
});

it("knows a tool without a subject, and a scope within another", () => {
  expect(activityOf([tool("run_tests", {}, "run/builder 2")])).toEqual({
    who: "Builder 2",
    what: "run_tests",
  });
});

it("says nothing before anything was told, and cuts what is long", () => {
  expect(activityOf([])).toBeNull();
  expect(activityOf([text("x".repeat(500))])?.what).toHaveLength(120);
});
