import { ListTree, Workflow } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { cx } from "@/ui/cx";
import { Empty, Loading } from "@/ui/states";
import { useMatches } from "@/ui/use-matches";
import { NodeDetails } from "./node-details";
import type { Standing } from "./standings";
import { TreeList } from "./tree-list";
import type { TreeNode } from "./tree-shapes";
import type { Selection } from "./use-selection";

const Drawing = lazy(() => import("./drawing"));

type TreeCanvasProps = {
  name: string;
  nodes: readonly TreeNode[];
  selection: Selection;
  standings: ReadonlyMap<number, Standing> | null;
  runningNode: number | null;
  /** What is shown if there is no node. */
  nothing: ReactNode;
  /** What is to be said of it, in a line above. */
  note?: ReactNode;
};

/** The tree, drawn or as a list, and what is known of the selected node. */
export function TreeCanvas({
  name,
  nodes,
  selection,
  standings,
  runningNode,
  nothing,
  note,
}: TreeCanvasProps) {
  const isNarrow = useMatches("(max-width: 40rem)", false);
  const [chosen, setChosen] = useState<"drawing" | "list" | null>(null);
  const view = chosen ?? (isNarrow ? "list" : "drawing");
  const { folds, selected, select } = selection;
  const shown = { name, nodes, folds, selected: selected?.index ?? null, standings, onSelect: select };
  return (
    <section
      aria-label="The tree"
      className="flex h-[70vh] min-h-96 min-w-0 flex-col overflow-hidden rounded-card border border-line bg-panel lg:h-full"
    >
      <div className="flex min-h-11 flex-wrap items-center gap-2 border-b border-line px-2 py-1">
        <fieldset className="flex gap-1">
          <legend className="sr-only">Show it as</legend>
          <ViewButton isOn={view === "drawing"} onPress={() => setChosen("drawing")}>
            <Workflow aria-hidden className="size-3.5" /> Drawing
          </ViewButton>
          <ViewButton isOn={view === "list"} onPress={() => setChosen("list")}>
            <ListTree aria-hidden className="size-3.5" /> List
          </ViewButton>
        </fieldset>
        {note && <div className="min-w-0 text-xs text-ink-soft">{note}</div>}
      </div>
      <div className="min-h-0 flex-1">
        {nodes.length === 0 ? (
          <Empty title="Nothing to draw">{nothing}</Empty>
        ) : view === "list" ? (
          <TreeList {...shown} />
        ) : (
          <Suspense fallback={<Loading what="Drawing" />}>
            <Drawing {...shown} runningNode={runningNode} />
          </Suspense>
        )}
      </div>
      {nodes.length > 0 && (
        <NodeDetails
          node={selected}
          standing={selected === null ? null : (standings?.get(selected.index) ?? null)}
        />
      )}
    </section>
  );
}

function ViewButton(props: { isOn: boolean; onPress: () => void; children: ReactNode }) {
  return (
    <button
      type="button"
      aria-pressed={props.isOn}
      onClick={props.onPress}
      className={cx(
        "inline-flex h-7 items-center gap-1.5 rounded-control px-2.5 text-xs font-medium",
        props.isOn ? "bg-accent-soft text-accent" : "text-ink-soft hover:bg-line/50 hover:text-ink",
      )}
    >
      {props.children}
    </button>
  );
}
