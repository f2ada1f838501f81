/** Whether a view that grows at its end is to follow it. Pure. */

export type Scrolled = { top: number; height: number; shown: number };

/** So near to the end counts as being there. */
const NEAR = 32;

export function isAtEnd({ top, height, shown }: Scrolled): boolean {
  return height - top - shown <= NEAR;
}

/**
 * Whether it follows after a scroll. Who moves up, even by a little, wants to read: it lets go at once, and does
 * not wait until they are far away. A view that became shorter moves by itself, and that is nobody's wish.
 */
export function followsAfter(follows: boolean, before: Scrolled, now: Scrolled): boolean {
  const hasMovedUp = now.top < before.top - 1 && now.height >= before.height && now.shown <= before.shown;
  if (hasMovedUp) return false;
  return follows || isAtEnd(now);
}
