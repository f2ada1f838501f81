/** Server-sent events, read from the body of a response. We read them ourselves: `EventSource` cannot send
 * the page's key, and does not say why it failed. */

export type ServerEvent = { id: string | null; data: string };

/** Takes text in pieces of any size, gives the events that are whole. */
export class EventReader {
  #rest = "";

  read(text: string): ServerEvent[] {
    const blocks = (this.#rest + text).replaceAll("\r\n", "\n").split("\n\n");
    this.#rest = blocks.pop() ?? "";
    return blocks.map(eventOf).filter((event) => event !== null);
  }
}

function eventOf(block: string): ServerEvent | null {
  let id: string | null = null;
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("id:")) id = line.slice(3).trimStart();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length === 0 ? null : { id, data: data.join("\n") };
}

/** The server says that it is alive each 15 s; a connection that is silent for longer than this is dead, even if
 * nobody says so (the laptop slept, the network changed). */
const LONGEST_SILENCE_MS = 40_000;

/** The events of a response, in the batches in which they came over the wire. */
export async function* eventsOf(
  body: ReadableStream<Uint8Array>,
  longestSilenceMs = LONGEST_SILENCE_MS,
): AsyncGenerator<ServerEvent[]> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const events = new EventReader();
  const hangUp = () => void reader.cancel().catch(() => undefined);
  let timer = 0;
  try {
    for (;;) {
      timer = window.setTimeout(hangUp, longestSilenceMs);
      const { done, value } = await reader.read();
      window.clearTimeout(timer);
      if (done) return;
      const read = events.read(decoder.decode(value, { stream: true }));
      if (read.length > 0) yield read;
    }
  } finally {
    window.clearTimeout(timer);
    hangUp();
  }
}
