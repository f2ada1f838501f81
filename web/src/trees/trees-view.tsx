import { ChevronRight, CircleAlert } from "lucide-react";
import { Link } from "react-router";
import type { Schemas } from "@/api/client";
import { Badge } from "@/ui/badge";
import { Page } from "@/ui/page";
import { Empty, Loading, ProblemNotice } from "@/ui/states";
import { plural } from "@/words/format";
import { useTrees } from "./tree-queries";

export function Component() {
  const trees = useTrees();
  return (
    <Page
      title="Trees"
      lead="A tree says what an agent does, and in which order. Whatever it says, the limits of a run hold."
    >
      {trees.isPending && <Loading what="Loading the trees" />}
      {trees.isError && (
        <ProblemNotice error={trees.error} onRetry={() => void trees.refetch()} className="mb-3" />
      )}
      {trees.data?.length === 0 && (
        <Empty title="There are no trees">Put a .lua file into the folder trees of your home folder.</Empty>
      )}
      {trees.data !== undefined && trees.data.length > 0 && (
        <ul className="divide-y divide-line overflow-hidden rounded-card border border-line bg-panel">
          {trees.data.map((tree) => (
            <li key={tree.name}>
              <TreeRow tree={tree} />
            </li>
          ))}
        </ul>
      )}
    </Page>
  );
}

function TreeRow({ tree }: { tree: Schemas["TreeListed"] }) {
  const { name, origin, doc, nodes, problems } = tree;
  return (
    <Link
      to={`/trees/${encodeURIComponent(name)}`}
      className="flex items-center gap-3 px-4 py-3 hover:bg-canvas focus-visible:-outline-offset-2"
    >
      <span className="min-w-0 flex-1">
        <span className="flex flex-wrap items-center gap-2">
          <span className="font-medium [overflow-wrap:anywhere]">{name}</span>
          <Badge>{origin}</Badge>
          {problems.length > 0 && (
            <Badge tone="stop">
              <CircleAlert aria-hidden className="size-3" />
              {plural(problems.length, "problem")}
            </Badge>
          )}
        </span>
        <span className="block text-sm text-ink-soft [overflow-wrap:anywhere]">
          {doc || (nodes === null ? "It was never usable." : "It says nothing of itself.")}
        </span>
      </span>
      <span className="shrink-0 text-sm text-ink-soft tabular-nums">
        {nodes === null ? "nodes unknown" : plural(nodes, "node")}
      </span>
      <ChevronRight aria-hidden className="size-4 shrink-0 text-ink-faint" />
    </Link>
  );
}
