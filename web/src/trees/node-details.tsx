import { cx } from "@/ui/cx";
import { groupColour, kindWords, nameOf, parametersOf } from "./node-words";
import { StandingIcon } from "./standing-icon";
import type { Standing } from "./standings";
import type { TreeNode } from "./tree-shapes";

/** The selected node: what it is, where it stands, what it was given. Its room is kept, so nothing jumps. */
export function NodeDetails({ node, standing }: { node: TreeNode | null; standing: Standing | null }) {
  return (
    <div
      aria-live="polite"
      className="h-24 shrink-0 overflow-y-auto border-t border-line px-3 py-2 text-sm sm:h-20"
    >
      {node === null ? (
        <p className="text-ink-soft">Select a node to see what it does, and the line that makes it.</p>
      ) : (
        <>
          <p className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
            <span aria-hidden className={cx("font-mono", groupColour(node))}>
              {node.sign}
            </span>
            <span className="font-semibold [overflow-wrap:anywhere]">{nameOf(node)}</span>
            <span className="text-xs text-ink-soft">{kindWords(node)}</span>
            {standing !== null && (
              <span className="inline-flex items-center gap-1 text-xs text-ink-soft">
                <span aria-hidden>
                  <StandingIcon standing={standing} />
                </span>
                {standing.word}
              </span>
            )}
            <span className="text-xs text-ink-faint">
              {node.file}
              {node.line !== null && `, line ${node.line}`}
            </span>
          </p>
          <p className="text-xs text-ink-faint [overflow-wrap:anywhere]">
            {node.path.replaceAll("/", " › ")}
          </p>
          <p className="flex flex-wrap gap-x-3 font-mono text-xs [overflow-wrap:anywhere]">
            {parametersOf(node).map(({ name, value }) => (
              <span key={name}>
                <span className="text-ink-soft">{name}</span> = {value}
              </span>
            ))}
          </p>
        </>
      )}
    </div>
  );
}
