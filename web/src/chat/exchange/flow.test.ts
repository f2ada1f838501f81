import { describe, expect, it } from "vitest";
import type { Part, ToolUse } from "@/stream/run-state";
import { callStanding, doingNow, scopeOf, sectionsOf, shortArguments } from "./flow";

const text = (said: string, scope = "run"): Part => ({ kind: "text", text: said, turn: 0, scope });
const tool = (status: string | null, scope = "run", isError = false): ToolUse => ({
  kind: "tool",
  callId: "c",
  tool: "search",
  arguments: {},
  scope,
  result: status === null ? null : { status, text: "", isError },
});

describe("sectionsOf", () => {
  it("puts calls in a row together, until something comes between", () => {
    const [section] = sectionsOf([tool("executed"), tool("executed"), text("so"), tool(null)]);
    expect(section?.items.map((item) => (item.kind === "tools" ? item.uses.length : item.kind))).toEqual([
      2,
      "text",
      1,
    ]);
  });

  it("keeps sub-agents apart, and calls of two agents, too", () => {
    const sections = sectionsOf([
      tool("executed"),
      tool("executed", "run/reader-1"),
      text("x", "run/reader-1"),
      text("y"),
    ]);
    expect(sections.map((one) => [one.scope, one.items.length])).toEqual([
      ["run", 1],
      ["run/reader-1", 2],
      ["run", 1],
    ]);
  });
});

it("names sub-agents by the end of their scope", () => {
  expect(scopeOf("run")).toEqual({ name: "", depth: 0 });
  expect(scopeOf("run/reader-1/checker-2")).toEqual({ name: "checker-2", depth: 2 });
  expect(scopeOf("reviewer")).toEqual({ name: "reviewer", depth: 1 });
});

it.each([
  [{ query: "limits" }, "limits"],
  ['{"query":"limits"}', "limits"],
  ['{"query":"lim', '{"query":"lim'],
  [{ path: "a.py", line: 3 }, "path: a.py, line: 3"],
  [{ deep: { a: [1] } }, 'deep: {"a":[1]}'],
  ["two\n  lines", "two lines"],
  [null, ""],
  [{}, ""],
  [[1, 2], "[1,2]"],
])("shortens the arguments %j to %j", (given, short) => {
  expect(shortArguments(given)).toBe(short);
});

it("cuts long arguments between characters", () => {
  const short = shortArguments({ query: "🙂".repeat(200) });
  expect(short).toBe(`${"🙂".repeat(79)}…`);
});

describe("callStanding", () => {
  it("does not say that a call works when the run no longer does", () => {
    expect(callStanding(tool(null), true).standing).toBe("working");
    expect(callStanding(tool(null), false)).toEqual({ standing: "held", word: "no result" });
  });

  it.each([
    ["executed", false, "done"],
    ["executed", true, "failed"],
    ["failed", true, "failed"],
    ["timed_out", true, "failed"],
    ["refused", false, "held"],
    ["tripped", true, "held"],
    ["a_new_one", false, "done"],
  ])("%s (is error: %s) is %s", (status, isError, standing) => {
    expect(callStanding(tool(status, "run", isError), true).standing).toBe(standing);
  });
});

describe("doingNow", () => {
  it.each<[Part[], string]>([
    [[], "Working"],
    [[text("a")], "Answering"],
    [[tool(null)], "Using search"],
    [[tool("executed")], "Working"],
  ])("says what is being done", (parts, words) => {
    expect(doingNow({ parts, hasWorker: true })).toBe(words);
  });

  it("says that it waits for a worker, before the first and between two steps", () => {
    expect(doingNow({ parts: [], hasWorker: false })).toBe("Waiting for a worker");
    expect(doingNow({ parts: [tool("executed")], hasWorker: false })).toBe("Waiting for a worker");
  });

  it("says that another worker is waited for when one falls silent in the middle of something", () => {
    for (const last of [text("half an"), tool(null)]) {
      expect(doingNow({ parts: [last], hasWorker: false })).toContain("waiting for another");
    }
  });
});
