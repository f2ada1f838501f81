import { Card } from "@/ui/card";
import { cx } from "@/ui/cx";
import { count, money } from "@/words/format";
import { shareWords, shortCommit } from "./coding-words";
import type { Round } from "./shapes";

/** The rounds beside each other, so that one sees whether they came nearer to the end. */
export function RoundsTable({ rounds }: { rounds: readonly Round[] }) {
  const ended = rounds.filter((round) => round.commit !== null);
  if (ended.length < 2) return null;
  return (
    <Card title="Did it come nearer to the end?">
      {/* Scrolls sideways by itself where there is little room. */}
      <section
        aria-label="Rounds"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard must reach it
        tabIndex={0}
        className="-mx-1 overflow-x-auto px-1"
      >
        <table className="w-full text-right text-sm tabular-nums">
          <caption className="sr-only">Rounds that have ended</caption>
          <thead className="text-xs text-ink-soft">
            <tr>
              <Heading className="text-left">Round</Heading>
              <Heading>Lines</Heading>
              <Heading>Failing tests</Heading>
              <Heading>Open points</Heading>
              <Heading>Same as before</Heading>
              <Heading>Cost</Heading>
              <Heading>Commit</Heading>
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {ended.map((round) => (
              <tr key={round.number}>
                <th scope="row" className="py-1.5 pr-3 text-left font-medium">
                  {round.number}
                </th>
                <Cell>
                  +{count(round.added)} −{count(round.removed)}
                </Cell>
                <Cell isBad={(round.failing_tests ?? 0) > 0}>{count(round.failing_tests)}</Cell>
                <Cell isBad={round.open_issues.length > 0}>{count(round.open_issues.length)}</Cell>
                <Cell>{shareWords(round.similarity)}</Cell>
                <Cell>{money(round.cost_usd)}</Cell>
                <Cell>
                  <code className="font-mono text-xs">{shortCommit(round.commit ?? "")}</code>
                </Cell>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Card>
  );
}

function Heading({ className, children }: { className?: string; children: string }) {
  return (
    <th scope="col" className={cx("px-2 py-1 font-medium whitespace-nowrap first:pl-0 last:pr-0", className)}>
      {children}
    </th>
  );
}

function Cell({ isBad = false, children }: { isBad?: boolean; children: React.ReactNode }) {
  return (
    <td className={cx("px-2 py-1.5 whitespace-nowrap last:pr-0", isBad && "text-notice")}>{children}</td>
  );
}
