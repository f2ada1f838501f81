import { useSyncExternalStore } from "react";
import { Follower, type Following } from "./follower";

const MOST_KEPT = 30;
const followers = new Map<string, Follower>();

document.addEventListener("visibilitychange", () => {
  for (const follower of followers.values()) follower.pageSeenOrHidden();
});

/** The follower of a run; the same for all that ask. */
export function followerOf(runId: string): Follower {
  const known = followers.get(runId);
  if (known !== undefined) {
    followers.delete(runId); // the last used comes last
    followers.set(runId, known);
    return known;
  }
  const follower = new Follower(runId);
  followers.set(runId, follower);
  for (const [oldest, one] of followers) {
    if (followers.size <= MOST_KEPT) break;
    if (one.isIdle && one !== follower) followers.delete(oldest);
  }
  return follower;
}

/** A run as its stream tells it, live. */
export function useRun(runId: string): Following {
  const follower = followerOf(runId);
  return useSyncExternalStore(follower.subscribe, follower.read);
}

const NOT_FOLLOWED = (): null => null;
const NEVER = (): (() => void) => () => undefined;

/** The same, but only while it is wanted: an old exchange is not followed until somebody opens it. */
export function useRunWhen(isWanted: boolean, runId: string): Following | null {
  const follower = isWanted ? followerOf(runId) : null;
  return useSyncExternalStore<Following | null>(follower?.subscribe ?? NEVER, follower?.read ?? NOT_FOLLOWED);
}
