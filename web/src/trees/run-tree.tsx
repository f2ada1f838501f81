import { useEffect, useMemo } from "react";
import { Link } from "react-router";
import type { Schemas } from "@/api/client";
import type { Following, Link as StreamLink } from "@/stream/follower";
import { useRun } from "@/stream/use-run";
import { Badge } from "@/ui/badge";
import { Page } from "@/ui/page";
import { Loading, ProblemNotice } from "@/ui/states";
import { endingOf, type Standing } from "@/words/endings";
import { plural } from "@/words/format";
import { LuaPane } from "./lua-pane";
import { Legend } from "./standing-icon";
import { standingsOf } from "./standings";
import { byTurn, type TracedTurn } from "./traces";
import { TreeCanvas } from "./tree-canvas";
import { TreeFrame } from "./tree-frame";
import { useRunTree, useTraces, useTree } from "./tree-queries";
import { fileOf } from "./tree-shapes";
import { TurnStepper } from "./turn-stepper";
import { usePlace } from "./use-place";
import { useSelection } from "./use-selection";

/** The tree that steers a run: live, or turn by turn. */
export function RunTreeView({ runId }: { runId: string }) {
  const following = useRun(runId);
  const isOver = following.link === "over";
  const tree = useRunTree(runId, isOver);
  if (tree.data !== undefined) {
    return <RunTree key={runId} runId={runId} tree={tree.data} following={following} />;
  }
  return (
    <Page title="The tree of a run" lead={<RunLink runId={runId} words="Run" />}>
      {tree.isPending ? (
        <Loading what="Loading the tree" />
      ) : (
        <ProblemNotice error={tree.error} onRetry={() => void tree.refetch()} />
      )}
    </Page>
  );
}

type RunTreeProps = { runId: string; tree: Schemas["RunTree"]; following: Following };

function RunTree({ runId, tree, following: { state, link, problem } }: RunTreeProps) {
  const { turn, lookAt } = usePlace();
  const isOver = link === "over";
  const file = useTree(tree.name);
  const traces = useTraces(runId, turn !== null, isOver);
  const turns = useMemo(() => byTurn(traces.data?.traces ?? []), [traces.data]);
  const looked = turn === null ? null : turns.find((one) => one.turn === turn - 1);
  const path = turn === null ? state.running?.path : undefined;
  const statuses = useMemo(
    () => (turn === null ? { ...tree.statuses, ...state.statuses } : (looked?.statuses ?? {})),
    [tree, state.statuses, turn, looked],
  );
  const isTurnOpen = turn === null && !isOver;
  const standings = useMemo(
    () => standingsOf(tree.nodes, statuses, path ?? [], isTurnOpen),
    [tree, statuses, path, isTurnOpen],
  );
  const toFoldBy = turn === null ? statuses : (looked?.statuses ?? tree.statuses);
  const selection = useSelection(tree.nodes, `${runId} ${tree.name}`, toFoldBy);
  const runningNode = path?.at(-1) ?? null;
  const { show } = selection.folds;
  useEffect(() => {
    if (runningNode !== null) show(runningNode);
  }, [runningNode, show]);
  const hasChanged = file.data !== undefined && file.data.hash !== tree.hash;
  const standing = state.ending === null ? followedAs(link) : endingOf(state.ending.outcome);
  return (
    <TreeFrame
      title={tree.name}
      badges={<Badge tone={standing.tone}>{standing.word}</Badge>}
      lead={<RunLink runId={runId} words="Steers the run" />}
      actions={<TurnStepper turn={turn} turns={state.used.turns} isOver={isOver} onLookAt={lookAt} />}
      above={
        <div className="space-y-2">
          {problem !== null && <ProblemNotice error={problem} />}
          {traces.isError && turn !== null && (
            <ProblemNotice error={traces.error} onRetry={() => void traces.refetch()} />
          )}
          {turn !== null && traces.isSuccess && (
            <TurnNotes traced={looked ?? null} turn={turn} isOver={isOver} />
          )}
          <Legend isTurnOpen={isTurnOpen} />
        </div>
      }
      canvas={
        <TreeCanvas
          name={tree.name}
          nodes={tree.nodes}
          selection={selection}
          standings={standings}
          runningNode={runningNode}
          nothing="This run keeps a tree without nodes."
          note={turn !== null && traces.isPending ? "Reading the record …" : undefined}
        />
      }
      lua={
        <LuaPane
          main={fileOf(tree.name)}
          nodes={tree.nodes}
          problems={[]}
          selection={selection}
          note={
            hasChanged && (
              <p className="border-b border-notice-line bg-notice-soft px-3 py-2 text-xs text-notice">
                This file has changed since the run began. The drawing shows the tree as the run keeps it;
                lines may be off.
              </p>
            )
          }
        />
      }
    />
  );
}

function followedAs(link: StreamLink): Standing {
  switch (link) {
    case "connecting":
      return { word: "Connecting", tone: "neutral" };
    case "live":
      return { word: "Live", tone: "accent" };
    case "waiting":
      return { word: "Connection lost, trying again", tone: "notice" };
    case "over":
      return { word: "Not followed", tone: "stop" };
  }
}

function RunLink({ runId, words }: { runId: string; words: string }) {
  return (
    <>
      {words}{" "}
      <Link to={`/runs/${encodeURIComponent(runId)}`} className="text-accent underline underline-offset-2">
        {runId}
      </Link>
    </>
  );
}

/** What is to be said of a turn beside what the nodes show. */
function TurnNotes({ traced, turn, isOver }: { traced: TracedTurn | null; turn: number; isOver: boolean }) {
  if (traced === null) {
    const words = isOver
      ? `Nothing is noted of a turn ${turn}.`
      : `What the nodes did in turn ${turn} is not noted yet.`;
    return <p className="text-sm text-ink-soft">{words}</p>;
  }
  if (traced.errors.length === 0 && traced.dropped === 0) return null;
  return (
    <ul className="space-y-1 text-sm text-ink-soft">
      {traced.errors.map((error) => (
        <li key={error} className="[overflow-wrap:anywhere]">
          Failed: {error}
        </li>
      ))}
      {traced.dropped > 0 && <li>{plural(traced.dropped, "more step")} were too many to keep.</li>}
    </ul>
  );
}
