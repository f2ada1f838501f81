/**
 * Saves as one changes: a moment after the last change of a field, one field at a time, in order. Two changes
 * made quickly can so not undo each other, and what the server refuses stays in its field to be mended.
 */
import { asProblem, type Problem } from "@/api/problem";

/** What is to be known of a field that was touched. There is no draft any more once the server has the value. */
export type FieldState<Value> =
  | { state: "waiting" | "saving"; draft: Value }
  | { state: "failed"; draft: Value; problem: Problem }
  | { state: "saved" };
/** By the name of the field; those that nobody touched are left out. */
export type FieldStates<Value> = Readonly<Partial<Record<string, FieldState<Value>>>>;

const DELAY_MS = 400;
const SAVED_SHOWN_MS = 4_000;

export class Saver<Name extends string, Value> {
  readonly #save: (name: Name, value: Value) => Promise<void>;
  readonly #listeners = new Set<() => void>();
  readonly #timers = new Map<Name, ReturnType<typeof setTimeout>>();
  #fields: FieldStates<Value> = {};
  /** The end of the queue: what comes next waits for this. */
  #last: Promise<void> = Promise.resolve();

  constructor(save: (name: Name, value: Value) => Promise<void>) {
    this.#save = save;
  }

  read = (): FieldStates<Value> => this.#fields;

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** A field was changed: save it when nothing more comes for a moment. */
  change(name: Name, value: Value): void {
    this.#set(name, { state: "waiting", draft: value });
    this.#after(DELAY_MS, name, () => this.#queue(name));
  }

  /** Save what failed once more, as it stands in the field. */
  retry(name: Name): void {
    const field = this.#fields[name];
    if (field?.state !== "failed") return;
    this.#set(name, { state: "waiting", draft: field.draft });
    this.#queue(name);
  }

  /** Save at once what still waits for its moment: somebody leaves. */
  flush(): void {
    for (const name of [...this.#timers.keys()]) {
      if (this.#fields[name]?.state !== "waiting") continue;
      this.#stopTimer(name);
      this.#queue(name);
    }
  }

  /** Forget all changes that were not sent, let the one under way finish, then do this. */
  async instead(work: () => Promise<void>): Promise<void> {
    for (const name of [...this.#timers.keys()]) this.#stopTimer(name);
    this.#fields = {};
    this.#tell();
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    await done;
  }

  #queue(name: Name): void {
    this.#last = this.#last.then(() => this.#saveNow(name));
  }

  async #saveNow(name: Name): Promise<void> {
    const field = this.#fields[name];
    // Another save of the same field took the newest value along, or there is a newer one to come.
    if (field?.state !== "waiting" || this.#timers.has(name)) return;
    const sent: FieldState<Value> = { state: "saving", draft: field.draft };
    this.#set(name, sent);
    let problem: Problem | null = null;
    try {
      await this.#save(name, field.draft);
    } catch (error) {
      problem = asProblem(error);
    }
    if (this.#fields[name] !== sent) return; // changed meanwhile: that change has its own save
    if (problem !== null) {
      this.#set(name, { state: "failed", draft: field.draft, problem });
      return;
    }
    this.#set(name, { state: "saved" });
    this.#after(SAVED_SHOWN_MS, name, () => this.#forget(name));
  }

  #after(ms: number, name: Name, work: () => void): void {
    this.#stopTimer(name);
    const timer = setTimeout(() => {
      this.#timers.delete(name);
      work();
    }, ms);
    this.#timers.set(name, timer);
  }

  #stopTimer(name: Name): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
  }

  #forget(name: Name): void {
    const { [name]: _, ...others } = this.#fields;
    this.#fields = others;
    this.#tell();
  }

  #set(name: Name, field: FieldState<Value>): void {
    this.#fields = { ...this.#fields, [name]: field };
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
