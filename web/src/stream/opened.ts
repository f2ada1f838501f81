import { keyHeaders } from "@/api/key";
import { problemOf } from "@/api/problem";

/** A stream of the server's, from behind the last id that came, if one did. A refusal is thrown as a `Problem`. */
export async function opened(
  address: string,
  lastId: string | null,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const headers: Record<string, string> = { ...keyHeaders(), Accept: "text/event-stream" };
  if (lastId !== null) headers["Last-Event-ID"] = lastId;
  const response = await fetch(address, { headers, signal, cache: "no-store" });
  if (!response.ok || response.body === null) {
    throw problemOf(response.status, await response.json().catch(() => null));
  }
  return response.body;
}
