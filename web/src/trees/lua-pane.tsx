import { type ReactNode, useState } from "react";
import { CopyButton } from "@/ui/copy-button";
import { cx } from "@/ui/cx";
import { Loading, ProblemNotice } from "@/ui/states";
import { filesOf } from "./lines";
import { LuaSource } from "./lua-source";
import { useTree } from "./tree-queries";
import { type TreeNode, type TreeProblem, treeIn } from "./tree-shapes";
import type { Selection } from "./use-selection";

type LuaPaneProps = {
  /** The file of the tree itself; the others are those of the trees that it refers to. */
  main: string;
  nodes: readonly TreeNode[];
  problems: readonly TreeProblem[];
  selection: Selection;
  /** Stands in for the main file while it is being changed. */
  editor?: ReactNode;
  note?: ReactNode;
};

/** The Lua beside the drawing: the file that the selected node comes from, or the one that was chosen. */
export function LuaPane({ main, nodes, problems, selection, editor, note }: LuaPaneProps) {
  const { selected, select } = selection;
  const at = selected?.index ?? null;
  const [chosen, setChosen] = useState(editor === undefined ? null : { file: main, at });
  const file = chosen !== null && chosen.at === at ? chosen.file : (selected?.file ?? main);
  const isEdited = file === main && editor !== undefined;
  const tree = useTree(isEdited ? null : treeIn(file));
  return (
    <section
      aria-label="The Lua of the tree"
      className="flex h-[60vh] min-h-80 min-w-0 flex-col overflow-hidden rounded-card border border-line bg-panel lg:h-full"
    >
      <div className="flex min-h-11 items-center gap-1 border-b border-line px-2 py-1">
        <div className="flex min-w-0 flex-1 gap-1 overflow-x-auto p-0.5">
          {filesOf(nodes, main).map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === file}
              onClick={() => setChosen({ file: one, at })}
              className={cx(
                "h-7 shrink-0 rounded-control px-2 font-mono text-xs",
                one === file ? "bg-accent-soft text-accent" : "text-ink-soft hover:bg-line/50 hover:text-ink",
              )}
            >
              {one}
            </button>
          ))}
        </div>
        {!isEdited && tree.data !== undefined && (
          <CopyButton label="Copy the file" isIconOnly text={() => tree.data.source} />
        )}
      </div>
      {note}
      {isEdited ? editor : <OneFile tree={tree} {...{ file, nodes, problems, selected }} onSelect={select} />}
    </section>
  );
}

type OneFileProps = Pick<LuaPaneProps, "nodes" | "problems"> & {
  tree: ReturnType<typeof useTree>;
  file: string;
  selected: TreeNode | null;
  onSelect: (index: number) => void;
};

function OneFile({ tree, ...rest }: OneFileProps) {
  if (tree.isPending) return <Loading what="Reading" />;
  if (tree.isError) {
    return <ProblemNotice error={tree.error} onRetry={() => void tree.refetch()} className="m-3" />;
  }
  if (tree.data.source === "") return <p className="p-4 text-sm text-ink-soft">This file cannot be read.</p>;
  return (
    <div className="min-h-0 flex-1">
      <LuaSource source={tree.data.source} {...rest} />
    </div>
  );
}
