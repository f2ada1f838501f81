import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import { createContext, memo, use, useEffect, useRef } from "react";
import { cx } from "@/ui/cx";
import { groupColour, nameOf, nodeSentence, shortName } from "./node-words";
import { StandingIcon } from "./standing-icon";
import type { Standing } from "./standings";
import type { TreeNode } from "./tree-shapes";

export type CardData = {
  node: TreeNode;
  standing: Standing | null;
  below: number;
  isFolded: boolean;
  isSelected: boolean;
  /** The one that the Tab key reaches; from there the arrows lead on. */
  isTabStop: boolean;
};
export type CardNode = Node<CardData, "card">;

type CardActions = {
  select: (index: number) => void;
  toggle: (index: number) => void;
  /** Whether the key was one of ours. */
  press: (index: number, key: string) => boolean;
  reveal: (index: number) => void;
  /** Whether the focus is to follow the selection here. */
  takesFocus: (index: number) => boolean;
};
export const CardActionsContext = createContext<CardActions | null>(null);

/** One node of the drawing. */
export const NodeCard = memo(function NodeCard({ data }: NodeProps<CardNode>) {
  const { node, standing, below, isFolded, isSelected, isTabStop } = data;
  const actions = use(CardActionsContext);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isSelected && actions?.takesFocus(node.index)) button.current?.focus({ preventScroll: true });
  }, [isSelected, actions, node.index]);
  return (
    <div
      className={cx(
        "pointer-events-auto flex h-[38px] w-45 items-center rounded-control border border-l-4",
        groupColour(node),
        frameOf(data),
        isSelected && "ring-3 ring-accent/50",
      )}
    >
      <Handle
        type="target"
        position={Position.Left}
        isConnectable={false}
        className="h-px! min-h-0! w-px! min-w-0! border-0! opacity-0"
      />
      <button
        ref={button}
        type="button"
        tabIndex={isTabStop ? 0 : -1}
        aria-pressed={isSelected}
        aria-label={nodeSentence(node, standing, below, isFolded)}
        title={nodeSentence(node, standing, below, isFolded)}
        onClick={() => actions?.select(node.index)}
        onFocus={() => actions?.reveal(node.index)}
        onKeyDown={(event) => {
          if (!event.ctrlKey && !event.metaKey && !event.altKey && actions?.press(node.index, event.key)) {
            event.preventDefault();
          }
        }}
        className="flex h-full min-w-0 flex-1 items-center gap-1.5 rounded-control pr-1 pl-2 text-left"
      >
        <span aria-hidden className="w-4 shrink-0 text-center font-mono text-base leading-none">
          {node.sign}
        </span>
        <span className="min-w-0 flex-1 truncate text-sm font-medium text-ink">{shortName(node)}</span>
        {standing !== null && <StandingIcon standing={standing} />}
      </button>
      {below > 0 && (
        <button
          type="button"
          tabIndex={-1}
          aria-label={isFolded ? `+${below}: open ${nameOf(node)}` : `Fold ${nameOf(node)}`}
          onClick={() => actions?.toggle(node.index)}
          className="flex h-full min-w-6 items-center justify-center rounded-control px-1.5 text-xs text-ink-soft tabular-nums hover:bg-line/50 hover:text-ink"
        >
          {isFolded ? `+${below}` : "−"}
        </button>
      )}
      <Handle
        type="source"
        position={Position.Right}
        isConnectable={false}
        className="h-px! min-h-0! w-px! min-w-0! border-0! opacity-0"
      />
    </div>
  );
});

function frameOf({ standing, isSelected }: CardData): string {
  if (standing?.isNow) return "border-y-accent border-r-accent bg-accent-soft";
  if (isSelected) return "border-y-accent border-r-accent bg-panel";
  return standing?.sign === "none"
    ? "border-y-line border-r-line bg-canvas"
    : "border-y-line-strong/60 border-r-line-strong/60 bg-panel";
}
