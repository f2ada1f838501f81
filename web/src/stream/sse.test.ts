// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import { EventReader, eventsOf, type ServerEvent } from "./sse";

const WIRE =
  ': begun\n\nid: 2.0\ndata: {"type":"content","content":"naïve 🙂"}\n\ndata: no id\n\nid: 3+4~2\ndata: a\ndata: b\n\n';
const EVENTS: ServerEvent[] = [
  { id: "2.0", data: '{"type":"content","content":"naïve 🙂"}' },
  { id: null, data: "no id" },
  { id: "3+4~2", data: "a\nb" },
];

describe("EventReader", () => {
  it("gives whole events, and leaves out comments", () => {
    expect(new EventReader().read(WIRE)).toEqual(EVENTS);
  });

  it("gives the same, wherever the text is cut", () => {
    for (let at = 0; at <= WIRE.length; at += 1) {
      const reader = new EventReader();
      expect([...reader.read(WIRE.slice(0, at)), ...reader.read(WIRE.slice(at))]).toEqual(EVENTS);
    }
  });

  it("takes the line ends of a proxy, cut anywhere", () => {
    const reader = new EventReader();
    const read = [...WIRE.replaceAll("\n", "\r\n")].flatMap((one) => reader.read(one));
    expect(read).toEqual(EVENTS);
  });

  it("keeps what is not whole yet", () => {
    const reader = new EventReader();
    expect(reader.read("id: 1.0\ndata: half")).toEqual([]);
    expect(reader.read(" more\n\n")).toEqual([{ id: "1.0", data: "half more" }]);
  });
});

describe("eventsOf", () => {
  it("reads characters that come in two pieces", async () => {
    const bytes = new TextEncoder().encode(WIRE);
    const cut = bytes.indexOf(0xf0) + 2; // within the smiley
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes.slice(0, cut));
        controller.enqueue(bytes.slice(cut));
        controller.close();
      },
    });
    const read: ServerEvent[] = [];
    for await (const events of eventsOf(body)) read.push(...events);
    expect(read).toEqual(EVENTS);
  });

  it("hangs up on a connection that gives no sign of life", async () => {
    vi.useFakeTimers();
    try {
      const cancelled = vi.fn();
      const body = new ReadableStream<Uint8Array>({ cancel: cancelled });
      const first = eventsOf(body, 40_000).next();
      await vi.advanceTimersByTimeAsync(39_000);
      expect(cancelled).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(2_000);
      expect(await first).toEqual({ done: true, value: undefined });
      expect(cancelled).toHaveBeenCalled();
    } finally {
      vi.useRealTimers();
    }
  });

  it("takes a comment for a sign of life", async () => {
    vi.useFakeTimers();
    try {
      let told: ReadableStreamDefaultController<Uint8Array> | undefined;
      const cancelled = vi.fn();
      const start = (one: ReadableStreamDefaultController<Uint8Array>) => {
        told = one;
      };
      const body = new ReadableStream<Uint8Array>({ start, cancel: cancelled });
      const first = eventsOf(body, 40_000).next();
      await vi.advanceTimersByTimeAsync(30_000);
      told?.enqueue(new TextEncoder().encode(": alive\n\n"));
      await vi.advanceTimersByTimeAsync(30_000);
      expect(cancelled).not.toHaveBeenCalled();
      told?.enqueue(new TextEncoder().encode("data: x\n\n"));
      expect(await first).toEqual({ done: false, value: [{ id: null, data: "x" }] });
    } finally {
      vi.useRealTimers();
    }
  });
});
