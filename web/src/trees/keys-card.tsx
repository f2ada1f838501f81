import { Card } from "@/ui/card";
import type { TreeKey } from "./tree-shapes";

/** What the nodes of the tree know together. */
export function KeysCard({ keys }: { keys: readonly TreeKey[] }) {
  return (
    <Card title="Blackboard">
      {keys.length === 0 ? (
        <p className="text-sm text-ink-soft">This tree declares no keys of its own.</p>
      ) : (
        <dl className="space-y-2 text-sm">
          {keys.map((key) => (
            <div key={key.name} className="[overflow-wrap:anywhere]">
              <dt className="flex flex-wrap items-baseline gap-x-2">
                <code className="font-mono font-semibold">{key.name}</code>
                <span className="text-xs text-ink-soft">{key.type}</span>
                <span className="text-xs text-ink-faint">
                  at first {JSON.stringify(key.default) ?? "nothing"}
                </span>
              </dt>
              {key.doc && <dd className="text-ink-soft">{key.doc}</dd>}
            </div>
          ))}
        </dl>
      )}
    </Card>
  );
}
