/** How the nodes of a tree stand, by their index. Pure. */

export type Statuses = Readonly<Record<number, string>>;

/** "12 success" and so on: how each node stood at last. */
export function statusesOf(steps: readonly string[]): Statuses {
  const found: Record<number, string> = {};
  for (const step of steps) {
    const [index, status] = step.split(" ", 2);
    if (index !== undefined && /^\d+$/.test(index) && status) found[Number(index)] = status;
  }
  return found;
}
