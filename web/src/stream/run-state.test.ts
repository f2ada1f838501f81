import { describe, expect, it } from "vitest";
import { type Chunk, chunkOf } from "./chunks";
import { elapsedS, NOTHING_YET, type RunState, told, unseenAnswer } from "./run-state";

const after = (...chunks: Chunk[]): RunState => chunks.reduce(told, NOTHING_YET);
const turn = (number: number, isLast = false): Chunk => ({
  type: "context_update",
  turn: number,
  is_last_turn: isLast,
});
const text = (content: string, scope?: string): Chunk => ({
  type: "content",
  content,
  ...(scope ? { scope } : {}),
});
const thought = (content: string): Chunk => ({ type: "thinking", content });
const done = (answer: string): Chunk => ({
  type: "done",
  outcome: "completed",
  answer,
  is_forced: false,
  warnings: [],
});
const budget: Chunk = {
  type: "budget",
  limits: { turns: 30, cost_usd: "0.42" },
  warn_percent: { turns: 70 },
  reserve_percent: 5,
  model: "test:scripted",
  at: 100,
};
const shown = (state: RunState) => state.parts.map((part) => ("text" in part ? part.text : part.kind));

describe("what is said", () => {
  it("goes on in its part within a turn, and begins anew with the next", () => {
    expect(shown(after(turn(0), text("Li"), text("mits"), turn(1), text("Then")))).toEqual([
      "Limits",
      "Then",
    ]);
  });

  it("goes on in its part when what we found in it was told in between", () => {
    const found: Chunk = {
      type: "system",
      system_type: "no_progress",
      system_message: "It repeats itself",
      metadata: { current_value: 10, limit_value: 10, percent: 100, limit_type: "repeated_reply" },
    };
    expect(shown(after(turn(0), text("a b"), found, text(" c"), turn(1), text("d")))).toEqual([
      "a b c",
      "system",
      "d",
    ]);
  });

  it("keeps thinking, and what sub-agents say, apart", () => {
    const state = after(turn(0), thought("hm"), text("a"), text("b", "run/reader-1"), text("c"));
    expect(shown(state)).toEqual(["hm", "a", "b", "c"]);
    expect(state.parts.map((part) => "scope" in part && part.scope)).toEqual([
      "run",
      "run",
      "run/reader-1",
      "run",
    ]);
  });

  it("is not changed in states that were read before", () => {
    const before = after(turn(0), text("a"));
    told(before, text("b"));
    expect(shown(before)).toEqual(["a"]);
  });
});

describe("retract", () => {
  const retract = (chars: number, thinking_chars = 0): Chunk => ({
    type: "retract",
    turn: 0,
    chars,
    thinking_chars,
  });

  it("takes back the last characters, and parts that are empty then", () => {
    expect(shown(after(turn(0), text("whole"), turn(1), text("half"), retract(4)))).toEqual(["whole"]);
    expect(shown(after(turn(0), text("one two"), retract(4)))).toEqual(["one"]);
  });

  it("counts characters as the server does: a smiley is one", () => {
    expect(shown(after(turn(0), text("a🙂b"), retract(2)))).toEqual(["a"]);
  });

  it("counts text and thinking each for itself, and leaves sub-agents alone", () => {
    const state = after(
      turn(0),
      thought("think"),
      text("said"),
      text("child", "run/reader-1"),
      retract(2, 5),
    );
    expect(shown(state)).toEqual(["sa", "child"]);
  });

  it("reaches over a part that came between", () => {
    expect(shown(after(turn(0), text("ab"), thought("x"), text("cd"), retract(3)))).toEqual(["a", "x"]);
  });
});

describe("tools", () => {
  const call: Chunk = { type: "tool_call", call_id: "c1", tool: "read_file", arguments: { path: "a" } };
  const result: Chunk = {
    type: "tool_result",
    call_id: "c1",
    tool: "read_file",
    status: "executed",
    result: { lines: 3 },
    is_error: false,
  };

  it("are open until their result comes", () => {
    expect(after(call).parts).toMatchObject([{ kind: "tool", result: null }]);
    expect(after(call, result).parts).toMatchObject([
      { kind: "tool", result: { status: "executed", text: '{\n  "lines": 3\n}', isError: false } },
    ]);
  });

  it("with the same id each get their own result, in order", () => {
    const second: Chunk = { ...result, result: "later" };
    const results = after(call, result, call, second).parts.map(
      (part) => part.kind === "tool" && part.result?.text,
    );
    expect(results).toEqual(['{\n  "lines": 3\n}', "later"]);
  });

  it("a result of nothing is text all the same", () => {
    const nothing: Chunk = { ...result, result: undefined };
    expect(after(call, nothing).parts).toMatchObject([{ result: { text: "" } }]);
  });
});

describe("what was used", () => {
  const settled = (cost_usd: string | null): Chunk => ({
    type: "context_update",
    turn: 0,
    input_tokens: 100,
    output_tokens: 20,
    cost_usd,
  });

  it("adds up, and counts the calls without a known price", () => {
    const state = after(turn(0), settled("0.01"), settled(null), turn(1));
    expect(state.used).toEqual({ turns: 2, tokens: 240, model_calls: 2, cost_usd: 0.01 });
    expect(state.unknownCostCalls).toBe(1);
  });

  it("counts only the run's own turns", () => {
    expect(after(turn(0), { type: "context_update", turn: 6, scope: "run/reader-1" }).used.turns).toBe(1);
  });

  it("grants raise the limits that there are, and no others", () => {
    const state = after(budget, {
      type: "grant",
      added: { turns: 10, cost_usd: "0.08", tokens: 5 },
      by: "ana",
      why: "",
    });
    expect(state.budget?.limits).toEqual({ turns: 40, cost_usd: 0.5 });
  });
});

describe("the clock", () => {
  it("stands still while the run waits for somebody", () => {
    const paused = after(budget, { type: "paused", why: "", at: 110 });
    expect(elapsedS(paused, 500)).toBe(10);
    expect(elapsedS(told(paused, { type: "resumed", at: 500 }), 503)).toBe(13);
  });

  it("stands still while no worker is at it, since it was heard last", () => {
    const silent = after(budget, { type: "worker", is_there: false, at: 103 });
    expect(elapsedS(silent, 109)).toBe(3);
    const again = told(silent, { type: "worker", is_there: true, at: 110 });
    expect(elapsedS(again, 112)).toBe(5);
    expect(elapsedS(told(again, { type: "worker", is_there: true, at: 112 }), 112)).toBe(5);
  });

  it("runs from the start, and no longer once the run has ended", () => {
    expect(elapsedS(after(budget), 104)).toBe(4);
    const over = after(budget, done("x"));
    expect(elapsedS(over, 900)).toBe(elapsedS(over, 901));
  });
});

describe("the ending", () => {
  it("is taken back when the run goes on", () => {
    const state = after(done("x"), { type: "resumed", at: 5 });
    expect(state.ending).toBeNull();
  });

  it("has an answer to show only if the text has not shown it", () => {
    expect(unseenAnswer(after(text("It is  so.\n"), done("It is so.")))).toBeNull();
    expect(unseenAnswer(after(text("Looking …"), done("It is so.")))).toBe("It is so.");
    expect(unseenAnswer(after(text("Looking …")))).toBeNull();
    expect(unseenAnswer(after(done("  ")))).toBeNull();
  });

  it("does not count what a sub-agent said as shown", () => {
    expect(unseenAnswer(after(text("It is so.", "run/reader-1"), done("It is so.")))).toBe("It is so.");
  });
});

describe("chunks", () => {
  it("that are not known yet, or are none, change nothing", () => {
    const before = after(text("a"));
    const later = chunkOf('{"type":"hologram","depth":3}');
    expect(later === null ? null : told(before, later)).toBe(before);
    expect(chunkOf("null")).toBeNull();
    expect(chunkOf("{half")).toBeNull();
  });

  it("sources are shown once each", () => {
    const source: Chunk = { type: "source", title: "a.py", location: "a.py:1", passage: "x" };
    expect(after(source, source, { ...source, location: "a.py:9" }).sources).toHaveLength(2);
  });

  it("a trace of the run itself updates its tree", () => {
    const trace: Chunk = { type: "trace", turn: 0, steps: ["0 running", "4 success"] };
    expect(after(trace, { ...trace, steps: ["0 success"] }).statuses).toEqual({ 0: "success", 4: "success" });
    expect(after({ ...trace, scope: "run/reader-1" }).statuses).toEqual({});
  });
});
