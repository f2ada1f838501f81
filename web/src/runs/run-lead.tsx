import { ArrowLeft, ListTree, MessageSquare } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { Badge } from "@/ui/badge";
import { standingOf } from "@/words/endings";
import { ago, moment } from "@/words/format";
import type { RunDetail } from "./run-shapes";

/** Under the title: how it stands, who ran it with what, and the ways from here to elsewhere. */
export function RunLead({ run }: { run: RunDetail }) {
  const { word, tone } = standingOf(run);
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
      <Way to="/runs" icon={<ArrowLeft aria-hidden className="size-3.5" />}>
        All runs
      </Way>
      <Badge tone={tone}>{word}</Badge>
      <span className="break-all">
        {run.agent}
        {run.model !== run.agent && ` with ${run.model}`}
      </span>
      <time dateTime={run.started_at} title={moment(run.started_at)}>
        started {ago(run.started_at)}
      </time>
      <code className="text-xs break-all">{run.run_id}</code>
      {run.conversation_id !== null && (
        <Way
          to={`/c/${encodeURIComponent(run.conversation_id)}`}
          icon={<MessageSquare aria-hidden className="size-3.5" />}
        >
          Its conversation
        </Way>
      )}
      {run.tree !== null && (
        <Way
          to={`/trees/${encodeURIComponent(run.tree)}?run=${encodeURIComponent(run.run_id)}`}
          icon={<ListTree aria-hidden className="size-3.5" />}
        >
          Its tree
        </Way>
      )}
    </div>
  );
}

function Way({ to, icon, children }: { to: string; icon: ReactNode; children: string }) {
  return (
    <Link to={to} className="inline-flex items-center gap-1 text-accent underline-offset-2 hover:underline">
      {icon}
      {children}
    </Link>
  );
}
