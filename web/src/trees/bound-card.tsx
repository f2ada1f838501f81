import { Card } from "@/ui/card";
import { boundRows, boundSentence, leavesSentence, NO_BOUND } from "./bound-words";
import type { TreeBound } from "./tree-shapes";

/** What a tree can use at most: in a whole run, and in one pass. */
export function BoundCard({ bound }: { bound: TreeBound }) {
  return (
    <Card title="Upper bound">
      <p className="text-sm">
        {boundSentence(bound)} {leavesSentence(bound)}
      </p>
      <table className="mt-3 w-full text-sm">
        <thead>
          <tr className="text-left text-xs text-ink-soft">
            <th scope="col" className="py-1 font-medium">
              At most
            </th>
            <th scope="col" className="py-1 text-right font-medium">
              In a run
            </th>
            <th scope="col" className="py-1 text-right font-medium">
              In one pass
            </th>
          </tr>
        </thead>
        <tbody className="tabular-nums">
          {boundRows(bound).map((row) => (
            <tr key={row.name} className="border-t border-line">
              <th scope="row" className="py-1 text-left font-normal text-ink-soft">
                {row.name}
              </th>
              <Figure words={row.perRun} />
              <Figure words={row.perPass} />
            </tr>
          ))}
        </tbody>
      </table>
      <p className="mt-3 text-xs text-ink-soft">
        Under your settings. One pass goes through the tree once; it is begun anew until the agent is done.
        The limits of a run hold whatever the tree does.
      </p>
    </Card>
  );
}

function Figure({ words }: { words: string }) {
  return (
    <td className={words === NO_BOUND ? "py-1 text-right text-ink-faint" : "py-1 text-right"}>{words}</td>
  );
}
