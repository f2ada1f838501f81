/** What the server tells a user by itself: a review waits, an agent asks, a run has ended. */
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { asProblem } from "@/api/problem";
import { SESSION } from "@/api/session";
import { opened } from "@/stream/opened";
import { slept } from "@/stream/slept";
import { eventsOf, type ServerEvent } from "@/stream/sse";
import { followerOf } from "@/stream/use-run";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;
const SHOWN_MS = 10_000;

export type Notice = { type: string; run_id: string; why?: string };

/** Keeps what is shown fresh; gives the last new review, for a while. */
export function useNotifications(): Notice | null {
  const queries = useQueryClient();
  const [review, setReview] = useState<Notice | null>(null);
  useEffect(() => {
    const listening = new Listening(queries, setReview);
    listening.begin();
    return () => listening.end();
  }, [queries]);
  useEffect(() => {
    if (review === null) return;
    const timer = window.setTimeout(() => setReview(null), SHOWN_MS);
    return () => window.clearTimeout(timer);
  }, [review]);
  return review;
}

/**
 * One connection while the page can be seen. A page in the background has none: browsers allow few to one
 * server, and somebody with many tabs would find that nothing loads any more.
 */
class Listening {
  readonly #queries: QueryClient;
  readonly #onReview: (review: Notice) => void;
  #lastId: string | null = null;
  #hasBegun = false;
  #stop: AbortController | null = null;

  constructor(queries: QueryClient, onReview: (review: Notice) => void) {
    this.#queries = queries;
    this.#onReview = onReview;
  }

  begin(): void {
    document.addEventListener("visibilitychange", this.#look);
    this.#look();
  }

  end(): void {
    document.removeEventListener("visibilitychange", this.#look);
    this.#stop?.abort();
    this.#stop = null;
  }

  #look = (): void => {
    if (document.visibilityState === "hidden") {
      this.#stop?.abort();
      this.#stop = null;
    } else if (this.#stop === null) {
      this.#stop = new AbortController();
      void this.#listen(this.#stop.signal);
    }
  };

  async #listen(signal: AbortSignal): Promise<void> {
    let waitMs = FIRST_WAIT_MS;
    while (!signal.aborted) {
      try {
        await this.#connect(signal, () => {
          waitMs = FIRST_WAIT_MS;
        });
      } catch (error) {
        if (signal.aborted) return;
        const { status } = asProblem(error);
        if (status === 401) {
          // Signed out elsewhere, or for too long: the frame asks who is there, and shows the way in.
          await this.#queries.invalidateQueries({ queryKey: SESSION });
          return;
        }
        if (status === 422) this.#lastId = null;
      }
      await slept(waitMs, signal);
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    }
  }

  async #connect(signal: AbortSignal, onBegun: () => void): Promise<void> {
    const stream = await opened("/api/notifications/stream", this.#lastId, signal);
    onBegun();
    // Without an id to come back with, what happened meanwhile was told to nobody.
    if (this.#hasBegun && this.#lastId === null) this.#refresh(null);
    this.#hasBegun = true;
    for await (const events of eventsOf(stream)) {
      if (signal.aborted) return;
      for (const event of events) this.#take(event);
    }
  }

  #take(event: ServerEvent): void {
    if (event.id !== null) this.#lastId = event.id;
    const notice = noticeOf(event.data);
    if (notice === null) return;
    this.#refresh(notice.run_id);
    // Whoever looks at the run sees it there.
    if (notice.type === "review.requested" && followerOf(notice.run_id).isIdle) this.#onReview(notice);
  }

  #refresh(runId: string | null): void {
    for (const queryKey of [
      ["reviews"],
      ["runs"],
      ["conversations"],
      ["conversation"],
      runId === null ? ["run"] : ["run", runId],
    ]) {
      void this.#queries.invalidateQueries({ queryKey });
    }
  }
}

export function noticeOf(data: string): Notice | null {
  const told: unknown = JSON.parse(data);
  if (typeof told !== "object" || told === null || !("type" in told) || !("run_id" in told)) return null;
  const { type, run_id } = told;
  if (typeof type !== "string" || typeof run_id !== "string") return null;
  return { type, run_id, ...("why" in told && typeof told.why === "string" ? { why: told.why } : {}) };
}
