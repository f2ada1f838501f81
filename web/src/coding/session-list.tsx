import { Link } from "react-router";
import { Badge } from "@/ui/badge";
import { Loading, ProblemNotice } from "@/ui/states";
import { ago, moment, money, plural } from "@/words/format";
import { useSessions } from "./coding-queries";
import { folderName, isExample, rowStanding, workStanding } from "./coding-words";
import type { SessionRow } from "./shapes";

/** Every session of yours, newest first. */
export function SessionList() {
  const found = useSessions();
  if (found.isPending) return <Loading what="Looking for sessions" />;
  if (found.data === undefined) {
    return <ProblemNotice error={found.error} onRetry={() => void found.refetch()} />;
  }
  const sessions = found.data;
  return (
    <>
      {found.isError && (
        <ProblemNotice className="mb-3" error={found.error} onRetry={() => void found.refetch()} />
      )}
      {sessions.length === 0 ? (
        <p className="text-sm text-ink-soft">
          None yet. What you have built stands here, with what it cost and what became of it.
        </p>
      ) : (
        <ul aria-label="Sessions, newest first" className="space-y-2">
          {sessions.map((session) => (
            <SessionItem key={session.run_id} session={session} />
          ))}
        </ul>
      )}
    </>
  );
}

function SessionItem({ session }: { session: SessionRow }) {
  const { word, tone } = rowStanding(session);
  const work = workStanding(session);
  return (
    <li className="relative rounded-card border border-line bg-panel p-3 hover:border-line-strong has-focus-visible:bg-accent-soft">
      <div className="mb-1 flex flex-wrap items-center gap-2 text-xs text-ink-soft">
        <Badge tone={tone}>{word}</Badge>
        {work !== null && <Badge tone={work.tone}>{work.word}</Badge>}
        <time className="ml-auto" dateTime={session.started_at} title={moment(session.started_at)}>
          {ago(session.started_at)}
        </time>
      </div>
      <Link
        to={`/coding/${encodeURIComponent(session.run_id)}`}
        className="line-clamp-2 text-sm font-medium break-words after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
      >
        {session.intent.trim() || "Without an intent"}
      </Link>
      <p className="mt-1 text-xs break-words text-ink-soft tabular-nums">
        {[
          isExample(session.model) ? "an example" : folderName(session.repository) || "repository unknown",
          session.cost_usd === null ? "cost unknown" : money(session.cost_usd),
          plural(session.tokens, "token"),
        ].join(" · ")}
      </p>
    </li>
  );
}
