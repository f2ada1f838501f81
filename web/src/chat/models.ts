/** The models to choose from, as the list shows them. Pure. */

import type { Schemas } from "@/api/client";
import { capital } from "@/words/format";

export type Player = Schemas["PlayerShape"];

const PLAYGROUND = "playground:";

export function isPlayer(model: string): boolean {
  return model.startsWith(PLAYGROUND);
}

/** A name short enough for a button: the playground's without their prefix. */
export function shortName(model: string): string {
  if (!isPlayer(model)) return model;
  return capital(model.slice(PLAYGROUND.length).replaceAll("_", " "));
}

/** Whether a text names a model of a provider: both parts are there, and no white space. */
export function isModelName(text: string): boolean {
  return /^[a-z][\w-]*:\S+$/i.test(text);
}

/** What all players say of themselves is said once, above them, and not by each. */
export function sharedOnce(players: readonly Player[]): { shared: string; players: readonly Player[] } {
  const first = players[0];
  if (first === undefined || players.length === 1) return { shared: "", players };
  const sentences = first.about.split(/(?<=[.!?]) /);
  const shared = sentences
    .map((_, index) => sentences.slice(index).join(" "))
    .slice(1) // each keeps a sentence of its own
    .find((ending) => players.every((one) => one.about.endsWith(` ${ending}`)));
  if (shared === undefined) return { shared: "", players };
  const cut = (about: string) => about.slice(0, -shared.length).trimEnd();
  return { shared, players: players.map((one) => ({ ...one, about: cut(one.about) })) };
}
