// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Follower } from "./follower";
import { unseenAnswer } from "./run-state";
import { followerOf } from "./use-run";

/** A server: answers each call with the next of its answers, which the test writes to. */
class Connection {
  readonly lastId: string | null;
  #to: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly response: Response;

  constructor(lastId: string | null, status = 200) {
    this.lastId = lastId;
    const body = new ReadableStream<Uint8Array>({
      start: (to) => {
        this.#to = to;
      },
    });
    const problem = { error: { code: "gone", what: "There is no such run", allowed: "", to_do: "" } };
    this.response = status === 200 ? new Response(body) : Response.json(problem, { status });
  }

  tell(id: string | null, chunk: object): void {
    const named = id === null ? "" : `id: ${id}\n`;
    this.#to?.enqueue(new TextEncoder().encode(`${named}data: ${JSON.stringify(chunk)}\n\n`));
  }

  end(): void {
    this.#to?.close();
  }

  drop(): void {
    this.#to?.error(new TypeError("network error"));
  }
}

let connections: Connection[] = [];
let statuses: number[] = [];
const last = () => {
  const found = connections.at(-1);
  if (found === undefined) throw new Error("Nobody has connected");
  return found;
};
const content = (text: string) => ({ type: "content", content: text });
const DONE = { type: "done", outcome: "completed", answer: "one two", is_forced: false, warnings: [] };
const textOf = (one: Follower) =>
  one
    .read()
    .state.parts.map((part) => ("text" in part ? part.text : part.kind))
    .join("|");
const passed = (ms: number) => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  vi.useFakeTimers();
  connections = [];
  statuses = [];
  vi.stubGlobal("fetch", async (_: string, given: { headers: Record<string, string> }) => {
    const status = statuses.shift() ?? 200;
    if (status === 0) throw new TypeError("Failed to fetch");
    const made = new Connection(given.headers["Last-Event-ID"] ?? null, status);
    connections.push(made);
    return made.response;
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function followed(): { follower: Follower; leave: () => void } {
  const follower = new Follower("run_1");
  return { follower, leave: follower.subscribe(() => undefined) };
}

describe("Follower", () => {
  it("comes back with the last id after a drop, and neither loses nor repeats a word", async () => {
    const { follower } = followed();
    await passed(20);
    expect(last().lastId).toBeNull();
    last().tell("2+4", content("one "));
    last().tell(null, { type: "running", path: [0], names: ["agent"] });
    await passed(20);
    last().drop();
    await passed(20);
    expect(follower.read().link).toBe("waiting");
    expect(textOf(follower)).toBe("one ");
    await passed(300);
    expect(connections).toHaveLength(2);
    expect(last().lastId).toBe("2+4");
    last().tell("2+7", content("two"));
    last().tell("3.0", DONE);
    last().end();
    await passed(20);
    expect(textOf(follower)).toBe("one two");
    expect(follower.read()).toMatchObject({ link: "over", problem: null });
    expect(unseenAnswer(follower.read().state)).toBeNull();
    await passed(60_000);
    expect(connections).toHaveLength(2);
  });

  it("knows that no worker is at it until that is told otherwise, or the connection is another", async () => {
    const { follower } = followed();
    await passed(20);
    last().tell("2+4", content("one "));
    last().tell(null, { type: "worker", is_there: false, at: 1 });
    await passed(20);
    expect(follower.read().state.hasWorker).toBe(false);
    last().tell(null, { type: "worker", is_there: true, at: 2 });
    await passed(20);
    expect(follower.read().state.hasWorker).toBe(true);
    last().tell(null, { type: "worker", is_there: false, at: 1 });
    await passed(20);
    last().drop();
    await passed(300);
    expect(last().lastId).toBe("2+4");
    expect(follower.read().state.hasWorker).toBe(true);
  });

  it("tries again while the server is away, more and more slowly, and goes on when it is back", async () => {
    statuses = [0, 0, 503, 0];
    const { follower } = followed();
    await passed(10_000);
    expect(follower.read()).toMatchObject({ link: "live", problem: null });
  });

  it("says why when it is refused, and looks again when asked", async () => {
    statuses = [404];
    const { follower } = followed();
    await passed(10_000);
    expect(follower.read().link).toBe("over");
    expect(follower.read().problem?.message).toBe("There is no such run");
    expect(connections).toHaveLength(1);
    follower.again();
    await passed(20);
    expect(follower.read()).toMatchObject({ link: "live", problem: null });
  });

  it("goes on after a pause, from where it stood", async () => {
    const { follower } = followed();
    await passed(20);
    last().tell("4.0", content("one"));
    last().tell("9", { ...DONE, outcome: "under_review", answer: "" });
    last().end();
    await passed(20);
    expect(follower.read().link).toBe("over");
    follower.again();
    await passed(20);
    expect(last().lastId).toBe("9");
    last().tell("10.0", { type: "resumed", why: "", at: 1 });
    await passed(20);
    expect(follower.read()).toMatchObject({ link: "live", state: { ending: null } });
  });

  it("hangs up a while after the last one looks away, and picks it up where it was", async () => {
    const { follower, leave } = followed();
    await passed(20);
    last().tell("2.0", content("one "));
    await passed(20);
    leave();
    await passed(2_000);
    last().tell("3.0", content("unheard"));
    follower.subscribe(() => undefined);
    await passed(20);
    expect(connections).toHaveLength(2);
    expect(last().lastId).toBe("2.0");
  });

  it("does not connect for nobody", async () => {
    new Follower("run_1").again();
    await passed(1_000);
    expect(connections).toHaveLength(0);
  });

  it("gets over an event that it cannot read", async () => {
    const { follower } = followed();
    await passed(20);
    last().tell("2.0", content("one"));
    last().tell("3.0", ["not", "a", "chunk"]);
    last().tell("4.0", content(" two"));
    await passed(20);
    expect(textOf(follower)).toBe("one two");
    expect(connections).toHaveLength(1);
  });
});

describe("followerOf", () => {
  it("gives the same follower to all that ask, however many are open", () => {
    const leaves = Array.from({ length: 40 }, (_, at) => followerOf(`run_${at}`).subscribe(() => undefined));
    expect(followerOf("run_new")).toBe(followerOf("run_new"));
    for (const leave of leaves) leave();
  });
});
