/** The drawn tree. A piece of code of its own, loaded when somebody looks at a drawing. */
import "@xyflow/react/dist/base.css";
import { type Edge, MiniMap, ReactFlow, ReactFlowProvider } from "@xyflow/react";
import { type CSSProperties, useMemo, useRef } from "react";
import { DrawingControls } from "./drawing-controls";
import { countBelow, seenFor } from "./folding";
import { CARD, type Layout, layoutOf } from "./layout";
import { CardActionsContext, type CardNode, NodeCard } from "./node-card";
import type { Standing } from "./standings";
import type { TreeNode } from "./tree-shapes";
import type { Folds } from "./use-folds";
import { useLook } from "./use-look";

export type DrawingProps = {
  name: string;
  nodes: readonly TreeNode[];
  folds: Folds;
  selected: number | null;
  /** How each node stands in a run; null if there is no run. */
  standings: ReadonlyMap<number, Standing> | null;
  /** The node that is running now: the view follows it. */
  runningNode: number | null;
  onSelect: (index: number) => void;
};

const NODE_TYPES = { card: NodeCard };
const MANY = 30;
const COLOURS = {
  "--xy-edge-stroke": "var(--line-strong)",
  "--xy-edge-stroke-width": "1.25",
  "--xy-minimap-background-color": "var(--panel)",
  "--xy-minimap-mask-background-color": "color-mix(in srgb, var(--canvas) 70%, transparent)",
  "--xy-minimap-node-background-color": "var(--line-strong)",
} as CSSProperties;

export default function Drawing(props: DrawingProps) {
  return (
    <ReactFlowProvider>
      <Canvas {...props} />
    </ReactFlowProvider>
  );
}

function Canvas({ name, nodes, folds, selected, standings, runningNode, onSelect }: DrawingProps) {
  const frame = useRef<HTMLDivElement>(null);
  const layout = useMemo(() => layoutOf(nodes, folds.folded), [nodes, folds.folded]);
  const running = runningNode === null ? null : seenFor(nodes, folds.folded, runningNode);
  const look = useLook({ frame, name, nodes, layout, folds, selected, running, onSelect });
  const cards = useMemo(
    () => cardsOf(nodes, layout, folds, selected, standings),
    [nodes, layout, folds, selected, standings],
  );
  const edges = useMemo(() => edgesOf(layout, standings), [layout, standings]);
  return (
    <div ref={frame} className="relative h-full min-h-0">
      <CardActionsContext value={look.actions}>
        <ReactFlow
          nodes={cards}
          edges={edges}
          nodeTypes={NODE_TYPES}
          onInit={look.begin}
          onMoveStart={(event) => event !== null && look.setFollowing(false)}
          minZoom={0.1}
          maxZoom={1.6}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          disableKeyboardA11y
          deleteKeyCode={null}
          selectionKeyCode={null}
          multiSelectionKeyCode={null}
          panActivationKeyCode={null}
          // The wheel scrolls the page; with Ctrl, or by pinching, it zooms.
          zoomOnScroll={false}
          zoomOnDoubleClick={false}
          preventScrolling={false}
          onlyRenderVisibleElements={layout.seen.length > 300}
          proOptions={{ hideAttribution: true }}
          role="group"
          aria-label={`Drawing of the tree ${name}`}
          style={COLOURS}
        >
          {layout.seen.length > MANY && (
            <MiniMap
              pannable
              ariaLabel="Overview"
              className="max-sm:hidden"
              style={{ width: 120, height: 90, border: "1px solid var(--line)" }}
            />
          )}
        </ReactFlow>
      </CardActionsContext>
      <DrawingControls look={look} folds={folds} canFollow={runningNode !== null} />
    </div>
  );
}

function cardsOf(
  nodes: readonly TreeNode[],
  { seen, spots }: Layout,
  { folded }: Folds,
  selected: number | null,
  standings: DrawingProps["standings"],
): CardNode[] {
  const tabStop = selected !== null && spots.has(selected) ? selected : seen[0]?.index;
  return seen.map((node) => ({
    id: String(node.index),
    type: "card",
    position: spots.get(node.index) ?? { x: 0, y: 0 },
    width: CARD.width,
    height: CARD.height,
    data: {
      node,
      standing: standings?.get(node.index) ?? null,
      below: node.children.length === 0 ? 0 : countBelow(nodes, node.index),
      isFolded: folded.has(node.index),
      isSelected: node.index === selected,
      isTabStop: node.index === tabStop,
    },
  }));
}

function edgesOf({ seen }: Layout, standings: DrawingProps["standings"]): Edge[] {
  return seen.flatMap((node) => {
    if (node.parent === null) return [];
    const isNow = standings?.get(node.index)?.isNow ?? false;
    return [
      {
        id: `${node.parent}-${node.index}`,
        source: String(node.parent),
        target: String(node.index),
        type: "smoothstep",
        pathOptions: { borderRadius: 8, offset: 10 },
        ...(isNow && { style: { stroke: "var(--accent)", strokeWidth: 2.5 }, zIndex: 1 }),
      },
    ];
  });
}
