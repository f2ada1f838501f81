/** The nodes of the tree that run now, from its root to the leaf that works. */
export function RunningPath({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <div>
      <h3 className="mb-1.5 text-xs font-semibold text-ink-soft">Running now</h3>
      <ol className="text-xs">
        {names.map((name, depth) => (
          <li
            key={depth}
            className="truncate border-l border-line py-0.5 pl-2 text-ink-soft last:border-accent last:font-medium last:text-ink"
            style={{ marginLeft: `${Math.min(depth, 8) * 0.375}rem` }}
            title={name}
          >
            {name}
          </li>
        ))}
      </ol>
    </div>
  );
}
