import { Pencil, X } from "lucide-react";
import { useState } from "react";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Card } from "@/ui/card";
import { Page } from "@/ui/page";
import { Loading, ProblemNotice } from "@/ui/states";
import { plural } from "@/words/format";
import { BoundCard } from "./bound-card";
import { DraftEditor } from "./draft-editor";
import { KeysCard } from "./keys-card";
import { LuaPane } from "./lua-pane";
import { ProblemList } from "./problem-list";
import { TreeCanvas } from "./tree-canvas";
import { TreeFrame } from "./tree-frame";
import { useTree } from "./tree-queries";
import { fileOf, type TreeShown } from "./tree-shapes";
import { useDraft } from "./use-draft";
import { useSelection } from "./use-selection";

/** A tree as its file has it; and what would come of a change. */
export function FileTreeView({ name }: { name: string }) {
  const tree = useTree(name);
  if (tree.data !== undefined) return <FileTree key={tree.data.name} tree={tree.data} />;
  return (
    <Page title={name}>
      {tree.isPending ? (
        <Loading what="Loading the tree" />
      ) : (
        <ProblemNotice error={tree.error} onRetry={() => void tree.refetch()} />
      )}
    </Page>
  );
}

function FileTree({ tree }: { tree: TreeShown }) {
  const [isTrying, setTrying] = useState(false);
  const draft = useDraft(tree, isTrying);
  const shown = isTrying ? draft : tree;
  const selection = useSelection(shown.nodes, tree.name, null);
  const file = fileOf(tree.name);
  return (
    <TreeFrame
      title={tree.name}
      badges={
        <>
          <Badge>{tree.origin}</Badge>
          {tree.problems.length > 0 && <Badge tone="stop">{plural(tree.problems.length, "problem")}</Badge>}
        </>
      }
      lead={tree.doc}
      actions={
        <Button aria-expanded={isTrying} onClick={() => setTrying(!isTrying)}>
          {isTrying ? <X aria-hidden className="size-4" /> : <Pencil aria-hidden className="size-4" />}
          {isTrying ? "Stop trying" : "Try a change"}
        </Button>
      }
      above={tree.problems.length > 0 && !isTrying && <Problems tree={tree} />}
      canvas={
        <TreeCanvas
          name={tree.name}
          nodes={shown.nodes}
          selection={selection}
          standings={null}
          runningNode={null}
          nothing="As soon as the text has no problems, its tree is drawn here."
          note={
            isTrying && !draft.isShown && shown.nodes.length > 0 && "The last text without problems is drawn."
          }
        />
      }
      lua={
        <LuaPane
          key={isTrying ? "trying" : "reading"}
          main={file}
          nodes={shown.nodes}
          problems={tree.problems}
          selection={selection}
          {...(isTrying && {
            editor: <DraftEditor tree={tree} draft={draft} selected={selection.selected} />,
          })}
        />
      }
      below={
        <>
          {shown.bound !== null && <BoundCard bound={shown.bound} />}
          {tree.nodes.length > 0 && <KeysCard keys={tree.keys} />}
        </>
      }
    />
  );
}

function Problems({ tree }: { tree: TreeShown }) {
  return (
    <Card title="What is wrong with it">
      <ProblemList problems={tree.problems} file={fileOf(tree.name)} />
      <p className="mt-2 text-sm text-ink-soft">
        {tree.nodes.length > 0
          ? "Until it is mended, new runs use the last version that was good. That is the one drawn here."
          : "Until it is mended, no run can use it."}
      </p>
    </Card>
  );
}
