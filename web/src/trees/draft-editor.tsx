import { useId, useMemo } from "react";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy-button";
import { ProblemNotice } from "@/ui/states";
import { plural } from "@/words/format";
import { problemsByLine } from "./lines";
import { LuaEditor } from "./lua-editor";
import { ProblemList } from "./problem-list";
import { fileOf, type TreeNode, type TreeShown } from "./tree-shapes";
import type { Draft } from "./use-draft";

type DraftEditorProps = { tree: TreeShown; draft: Draft; selected: TreeNode | null };

/** A change that is tried: checked as one types, and saved nowhere. */
export function DraftEditor({ tree, draft, selected }: DraftEditorProps) {
  const id = useId();
  const file = fileOf(tree.name);
  const wrong = useMemo(() => problemsByLine(draft.problems, file), [draft.problems, file]);
  const isOwn = tree.origin === "own";
  const command = `endstop tree copy ${tree.name}`;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="space-y-1 border-b border-notice-line bg-notice-soft px-3 py-2 text-xs text-notice">
        <p>
          Nothing is saved here.{" "}
          {isOwn
            ? `To keep it, copy the text into ${file} in your trees folder.`
            : "To keep it, make a copy of your own, and put the text there:"}
        </p>
        <div className="flex flex-wrap items-center gap-2">
          {!isOwn && (
            <>
              <code className="font-mono [overflow-wrap:anywhere]">{command}</code>
              <CopyButton
                label="Copy the command"
                text={() => command}
                className="border border-notice-line"
              />
            </>
          )}
          <CopyButton label="Copy the text" text={() => draft.text} className="border border-notice-line" />
        </div>
      </div>
      <div className="min-h-0 flex-1">
        <LuaEditor
          text={draft.text}
          onText={draft.change}
          line={selected?.file === file ? selected.line : null}
          wrong={wrong}
          describedBy={id}
        />
      </div>
      <div id={id} className="relative max-h-44 shrink-0 overflow-y-auto border-t border-line px-3 py-2">
        <div className="flex min-h-7 items-center justify-between gap-2">
          <p role="status" className="text-sm">
            {draft.isChecking ? (
              <span className="text-ink-soft">Checking …</span>
            ) : draft.error !== null ? (
              <span className="text-stop">Not checked</span>
            ) : draft.problems.length === 0 ? (
              <span className="text-good">No problems: {plural(draft.nodes.length, "node")}</span>
            ) : (
              <span className="font-medium text-stop">{plural(draft.problems.length, "problem")}</span>
            )}
          </p>
          <Button size="small" disabled={draft.text === tree.source} onClick={draft.startOver}>
            Start over
          </Button>
        </div>
        {draft.error !== null && <ProblemNotice error={draft.error} onRetry={draft.checkAgain} />}
        <ProblemList problems={draft.problems} file={file} />
      </div>
    </div>
  );
}
