import { Link } from "react-router";
import { Badge } from "@/ui/badge";
import { cx } from "@/ui/cx";
import { useMatches } from "@/ui/use-matches";
import { standingOf } from "@/words/endings";
import { ago, count, duration, moment, money, plural } from "@/words/format";
import type { Run } from "./run-shapes";
import { cut, endingWords, tookS } from "./run-words";

const MOST_CHARS = 160;

/** Runs as a table, or as cards where a table has no room. `isOld`: what is asked for now is still to come. */
export function RunList({ runs, isOld }: { runs: readonly Run[]; isOld: boolean }) {
  // Only one of the two is drawn: nothing is read out twice.
  const isWide = useMatches("(min-width: 64rem)", true);
  return (
    <div aria-busy={isOld} className={cx("transition-opacity", isOld && "opacity-60")}>
      {isWide ? <RunTable runs={runs} /> : <RunCards runs={runs} />}
    </div>
  );
}

function RunTable({ runs }: { runs: readonly Run[] }) {
  return (
    <div className="overflow-hidden rounded-card border border-line bg-panel">
      <table className="w-full table-fixed text-left text-sm">
        <caption className="sr-only">Runs, newest first</caption>
        <thead className="border-b border-line text-xs text-ink-soft">
          <tr>
            <Heading className="w-38">Status</Heading>
            <Heading>Question and agent</Heading>
            <Heading className="w-14 text-right">Turns</Heading>
            <Heading className="w-22 text-right">Tokens</Heading>
            <Heading className="w-24 text-right">Cost</Heading>
            <Heading className="w-20 text-right">Time</Heading>
            <Heading className="w-56">How it ended</Heading>
            <Heading className="w-28">Started</Heading>
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {runs.map((run) => (
            <RunRow key={run.run_id} run={run} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Heading({ className, children }: { className?: string; children: string }) {
  return (
    <th scope="col" className={cx("px-3 py-2 font-medium", className)}>
      {children}
    </th>
  );
}

function RunRow({ run }: { run: Run }) {
  const ending = endingWords(run);
  return (
    // The link in it covers the whole row: it can be clicked anywhere, in any way that links can.
    <tr className="relative align-top hover:bg-canvas has-focus-visible:bg-accent-soft">
      <td className="px-3 py-2.5">
        <Standing run={run} />
      </td>
      <td className="px-3 py-2.5">
        <RunLink run={run} />
        <span className="block truncate text-xs text-ink-soft">{run.agent}</span>
      </td>
      <td className="px-3 py-2.5 text-right tabular-nums">{count(run.turns)}</td>
      <td className="px-3 py-2.5 text-right tabular-nums">{count(run.tokens)}</td>
      <td className="px-3 py-2.5 text-right tabular-nums">{money(run.cost_usd)}</td>
      <td className="px-3 py-2.5 text-right tabular-nums">{duration(tookS(run, Date.now()))}</td>
      <td className="px-3 py-2.5 text-ink-soft">
        <span className="line-clamp-2 break-words">{ending}</span>
      </td>
      <td className="px-3 py-2.5 text-ink-soft">
        <Started run={run} />
      </td>
    </tr>
  );
}

function RunCards({ runs }: { runs: readonly Run[] }) {
  return (
    <ul aria-label="Runs, newest first" className="space-y-3">
      {runs.map((run) => (
        <li
          key={run.run_id}
          className="relative rounded-card border border-line bg-panel p-3 hover:border-line-strong has-focus-visible:bg-accent-soft"
        >
          <div className="mb-1.5 flex items-center justify-between gap-2 text-xs text-ink-soft">
            <Standing run={run} />
            <Started run={run} />
          </div>
          <RunLink run={run} />
          <p className="line-clamp-2 text-sm break-words text-ink-soft">{endingWords(run)}</p>
          <p className="mt-1.5 text-xs break-words text-ink-soft tabular-nums">
            {[
              run.agent,
              plural(run.turns, "turn"),
              plural(run.tokens, "token"),
              run.cost_usd === null ? "cost unknown" : money(run.cost_usd),
              duration(tookS(run, Date.now())),
            ].join(" · ")}
          </p>
        </li>
      ))}
    </ul>
  );
}

function RunLink({ run }: { run: Run }) {
  return (
    <Link
      to={`/runs/${encodeURIComponent(run.run_id)}`}
      className="line-clamp-2 font-medium break-words after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
    >
      {cut(run.question.trim(), MOST_CHARS) || "Without a question"}
    </Link>
  );
}

function Standing({ run }: { run: Run }) {
  const { word, tone } = standingOf(run);
  return <Badge tone={tone}>{word}</Badge>;
}

function Started({ run }: { run: Run }) {
  return (
    <time dateTime={run.started_at} title={moment(run.started_at)}>
      {ago(run.started_at)}
    </time>
  );
}
