/** Follows one run, and never loses or repeats a word: it knows the last id, and comes back with it. */
import { asProblem, type Problem } from "@/api/problem";
import { chunkOf } from "./chunks";
import { opened } from "./opened";
import { NOTHING_YET, type RunState, told } from "./run-state";
import { slept } from "./slept";
import { eventsOf } from "./sse";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;
/** A tab that nobody looks at gives its connection up: browsers have six for all tabs of a server. */
const HIDDEN_MS = 10_000;

export type Link = "connecting" | "live" | "waiting" | "over";
export type Following = {
  state: RunState;
  /** How the connection stands; `waiting` means it broke and is tried again by itself. */
  link: Link;
  /** Why the server refuses to go on, if it does. */
  problem: Problem | null;
};

/** One per run on the page, shared by everything that shows it. */
export class Follower {
  readonly runId: string;
  #following: Following = { state: NOTHING_YET, link: "connecting", problem: null };
  #lastId: string | null = null;
  #listeners = new Set<() => void>();
  #stop: AbortController | null = null;
  #isTelling = false;
  #hidden: number | undefined;

  constructor(runId: string) {
    this.runId = runId;
  }

  /** Nobody looks at it. */
  get isIdle(): boolean {
    return this.#listeners.size === 0;
  }

  read = (): Following => this.#following;

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#stop === null && this.#following.link !== "over") this.#start();
    return () => {
      this.#listeners.delete(listener);
      // Given a moment: a component that moves on the page leaves and comes back.
      window.setTimeout(() => {
        if (this.#listeners.size === 0) this.#halt();
      }, 1_000);
    };
  };

  /** A run that had paused, or whose connection was refused, may go on: look again. */
  again = (): void => {
    this.#halt();
    this.#set({ link: "connecting", problem: null });
    if (!this.isIdle) this.#start(); // else whoever looks at it next does
  };

  /** The page is looked at again, or no longer. Nothing is lost by hanging up: who comes back gets the rest. */
  pageSeenOrHidden(): void {
    window.clearTimeout(this.#hidden);
    if (document.visibilityState === "hidden") {
      this.#hidden = window.setTimeout(() => this.#halt(), HIDDEN_MS);
    } else if (this.#stop === null && !this.isIdle && this.#following.link !== "over") {
      this.#start();
    }
  }

  #start(): void {
    const stop = new AbortController();
    this.#stop = stop;
    void this.#follow(stop.signal);
  }

  #halt(): void {
    this.#stop?.abort();
    this.#stop = null;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      const before = this.#lastId;
      try {
        await this.#connect(signal);
      } catch (error) {
        if (signal.aborted) return;
        const problem = asProblem(error);
        const isRefused = problem.status >= 400 && problem.status < 500 && problem.status !== 429;
        if (isRefused) {
          this.#set({ link: "over", problem });
          return;
        }
      }
      if (signal.aborted || this.#following.link === "over") return;
      if (this.#lastId !== before) waitMs = FIRST_WAIT_MS;
      this.#set({ link: "waiting" });
      await slept(waitMs, signal);
    }
  }

  /** Read one connection to its end. */
  async #connect(signal: AbortSignal): Promise<void> {
    const address = `/api/runs/${encodeURIComponent(this.runId)}/stream`;
    const stream = await opened(address, this.#lastId, signal);
    this.#set({ state: hopeful(this.#following.state), link: "live", problem: null });
    for await (const events of eventsOf(stream)) {
      if (signal.aborted) return;
      let { state } = this.#following;
      for (const event of events) {
        const chunk = chunkOf(event.data);
        if (chunk !== null) state = told(state, chunk);
        if (event.id !== null) this.#lastId = event.id;
      }
      this.#set({ state, link: state.ending === null ? "live" : "over" });
    }
  }

  /** Listeners are told once per frame, however many words came. */
  #set(change: Partial<Following>): void {
    this.#following = { ...this.#following, ...change };
    if (this.#isTelling) return;
    this.#isTelling = true;
    soon(() => {
      this.#isTelling = false;
      for (const listener of this.#listeners) listener();
    });
  }
}

/** Whether anybody works on a run is not on record: a new connection tells it anew, where nobody does. */
function hopeful(state: RunState): RunState {
  return state.hasWorker ? state : told(state, { type: "worker", is_there: true, at: Date.now() / 1_000 });
}

/** At the next frame; a page in the background has none, and is told all the same. */
function soon(work: () => void): void {
  if (document.visibilityState === "hidden") window.setTimeout(work, 50);
  else window.requestAnimationFrame(work);
}
