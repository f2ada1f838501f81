import { useParams } from "react-router";
import { FileTreeView } from "./file-tree";
import { RunTreeView } from "./run-tree";
import { usePlace } from "./use-place";

/** One tree; with `?run=ID` the one that this run keeps, live. */
export function Component() {
  const { name = "" } = useParams();
  const { runId } = usePlace();
  return runId === null ? <FileTreeView key={name} name={name} /> : <RunTreeView runId={runId} />;
}
