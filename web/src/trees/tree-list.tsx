import { ChevronRight } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef } from "react";
import { cx } from "@/ui/cx";
import { countBelow, moved, visibleNodes } from "./folding";
import { groupColour, kindWords, nameOf } from "./node-words";
import { StandingIcon } from "./standing-icon";
import type { Standing } from "./standings";
import type { TreeNode } from "./tree-shapes";
import type { Folds } from "./use-folds";

type TreeListProps = {
  name: string;
  nodes: readonly TreeNode[];
  folds: Folds;
  selected: number | null;
  standings: ReadonlyMap<number, Standing> | null;
  onSelect: (index: number) => void;
};

/** The same tree as text, walked with the arrow keys. Items stand one after the other and say their level: so each
 * is called by its own words, and not by all that is under it. */
export function TreeList({ name, nodes, folds, selected, standings, onSelect }: TreeListProps) {
  const list = useRef<HTMLDivElement>(null);
  const seen = visibleNodes(nodes, folds.folded);
  const tabStop = seen.some((node) => node.index === selected) ? selected : 0;
  useEffect(() => {
    const row = list.current?.querySelector(`[data-index="${selected}"]`);
    row?.scrollIntoView({ block: "nearest" });
  }, [selected]);
  const goTo = (index: number) => {
    onSelect(index);
    list.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus();
  };
  const press = (event: KeyboardEvent, index: number) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = moved(nodes, folds.folded, index, event.key);
    if (event.key === "Enter" || event.key === " ") onSelect(index);
    else if (move === null) return;
    else if ("toggle" in move) folds.toggle(move.toggle);
    else goTo(move.to);
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      ref={list}
      role="tree"
      aria-label={`The tree ${name}`}
      className="relative h-full overflow-auto p-2 text-sm"
    >
      {seen.map((node) => (
        <Item
          key={node.index}
          node={node}
          family={node.parent === null ? [node.index] : (nodes[node.parent]?.children ?? [])}
          below={countBelow(nodes, node.index)}
          isFolded={folds.folded.has(node.index)}
          isSelected={node.index === selected}
          isTabStop={node.index === tabStop}
          standing={standings?.get(node.index) ?? null}
          onSelect={() => goTo(node.index)}
          onToggle={() => folds.toggle(node.index)}
          onPress={(event) => press(event, node.index)}
        />
      ))}
    </div>
  );
}

type ItemProps = {
  node: TreeNode;
  /** Those that stand under the same node as this one, with it. */
  family: readonly number[];
  below: number;
  isFolded: boolean;
  isSelected: boolean;
  isTabStop: boolean;
  standing: Standing | null;
  onSelect: () => void;
  onToggle: () => void;
  onPress: (event: KeyboardEvent) => void;
};

function Item({ node, family, below, isFolded, isSelected, isTabStop, standing, ...does }: ItemProps) {
  return (
    <div
      role="treeitem"
      data-index={node.index}
      aria-level={node.depth + 1}
      aria-posinset={family.indexOf(node.index) + 1}
      aria-setsize={family.length}
      aria-selected={isSelected}
      aria-expanded={below > 0 ? !isFolded : undefined}
      tabIndex={isTabStop ? 0 : -1}
      onKeyDown={does.onPress}
      onClick={does.onSelect}
      className={cx(
        "flex min-h-7 cursor-pointer items-stretch rounded-control pr-2 focus-visible:-outline-offset-2",
        isSelected ? "bg-accent-soft" : "hover:bg-line/40",
      )}
    >
      {Array.from({ length: node.depth }, (_, at) => at).map((level) => (
        <span key={level} aria-hidden className="ml-3 w-0.5 shrink-0 border-l border-line sm:w-2" />
      ))}
      {below > 0 ? (
        <button
          type="button"
          tabIndex={-1}
          aria-hidden
          onClick={(event) => {
            event.stopPropagation();
            does.onToggle();
          }}
          className="flex w-6 shrink-0 items-center justify-center rounded text-ink-soft hover:text-ink"
        >
          <ChevronRight className={cx("size-3.5 transition-transform", !isFolded && "rotate-90")} />
        </button>
      ) : (
        <span className="w-6 shrink-0" />
      )}
      <span className="flex min-w-0 flex-1 items-center gap-1.5">
        <span aria-hidden className={cx("w-4 shrink-0 text-center font-mono", groupColour(node))}>
          {node.sign}
        </span>
        <span className="min-w-0 [overflow-wrap:anywhere]">
          {node.name !== node.kind && <span className="font-medium">{nameOf(node)}</span>}{" "}
          <span className="text-xs text-ink-soft">{kindWords(node)}</span>
        </span>{" "}
        {isFolded && below > 0 && (
          <span className="shrink-0 text-xs text-ink-soft tabular-nums">
            +{below} <span className="sr-only">below</span>
          </span>
        )}{" "}
        {standing !== null && (
          <span className="ml-auto">
            <StandingIcon standing={standing} />
          </span>
        )}
      </span>
    </div>
  );
}
