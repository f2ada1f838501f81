import { FileDown, GitMerge, Trash2 } from "lucide-react";
import { useState } from "react";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Card } from "@/ui/card";
import { Confirm } from "@/ui/confirm";
import { ProblemNotice } from "@/ui/states";
import { useAccept, useDiscard } from "./coding-queries";
import { gitWord, shortCommit } from "./coding-words";
import { DiffFold } from "./diff-view";
import { PatchDialog } from "./patch-dialog";
import type { Accepted, GitStanding, Session } from "./shapes";

/** What becomes of the work, once the session has ended: it is yours to take or to leave. */
export function WorkCard({ session }: { session: Session }) {
  const { standing, commits, conclusion, repository_problem } = session;
  // Here, and not beside its button: what came of it is to be seen when the button is gone.
  const accept = useAccept(session.run_id);
  if (repository_problem !== null) {
    return (
      <Card title="Your repository">
        <p className="text-sm break-words text-notice">{repository_problem}</p>
      </Card>
    );
  }
  if (standing === null) return null;
  if (standing === "gone") return session.rounds.length === 0 ? null : <Gone />;
  const checkpoint = conclusion?.checkpoint ?? commits.at(-1)?.commit ?? null;
  if (checkpoint === null && standing === "open") return <NothingBuilt session={session} />;
  const { word, tone } = gitWord(standing);
  return (
    <Card title="The work" aside={<Badge tone={tone}>{word}</Badge>}>
      {standing === "open" ? (
        <Open session={session} accept={accept} />
      ) : (
        <p role="status" className="text-sm break-words">
          {accept.data?.how === "merge" ? mergedWords(accept.data) : SETTLED[standing]}
        </p>
      )}
      {checkpoint !== null && (
        <div className="mt-2">
          <DiffFold
            runId={session.run_id}
            round={null}
            commit={checkpoint}
            line="All that the session changed"
          />
        </div>
      )}
    </Card>
  );
}

/** Its branch is there all the same, until somebody has it removed. */
function NothingBuilt({ session }: { session: Session }) {
  return (
    <Card title="The work">
      <p className="mb-3 text-sm text-ink-soft">
        Nothing was built. The branch{" "}
        <code className="font-mono text-xs break-all text-ink">{session.branch}</code> is as it began.
      </p>
      <Discard runId={session.run_id} isDisabled={false} />
    </Card>
  );
}

const SETTLED: Record<Exclude<GitStanding, "open" | "gone">, string> = {
  accepted: "It is merged into your branch.",
  discarded: "It was discarded. Nothing is lost: git still has its last commit.",
};

function Gone() {
  return (
    <Card title="The work">
      <p className="text-sm">Git does not know this session any more: its branch was deleted.</p>
    </Card>
  );
}

type OpenProps = { session: Session; accept: ReturnType<typeof useAccept> };

function Open({ session, accept }: OpenProps) {
  const [patch, setPatch] = useState<Accepted | null>(null);
  const isUnderWay = accept.isPending;
  // What is stuck or given up can be taken, too, but is not urged on anybody.
  const isGood = session.conclusion?.kind.startsWith("succeeded") ?? false;
  const take = (how: "merge" | "patch") =>
    accept.mutate(how, { onSuccess: (taken) => taken.how === "patch" && setPatch(taken) });
  return (
    <>
      <p className="text-sm text-ink-soft">
        It lies on the branch <code className="font-mono text-xs break-all text-ink">{session.branch}</code>.
        Your own files are untouched until you accept it.
      </p>
      <div className="mt-3 flex flex-wrap gap-2">
        <Button look={isGood ? "primary" : "plain"} disabled={isUnderWay} onClick={() => take("merge")}>
          <GitMerge aria-hidden className="size-4" />
          {isUnderWay && accept.variables === "merge" ? "Merging …" : "Accept, and merge it"}
        </Button>
        <Button disabled={isUnderWay} onClick={() => take("patch")}>
          <FileDown aria-hidden className="size-4" />
          {isUnderWay && accept.variables === "patch" ? "Writing …" : "Take it as a patch"}
        </Button>
        <Discard runId={session.run_id} isDisabled={isUnderWay} />
      </div>
      {accept.isError && (
        <ProblemNotice className="mt-3" error={accept.error} onRetry={() => take(accept.variables)} />
      )}
      <PatchDialog runId={session.run_id} patch={patch?.patch ?? null} onClose={() => setPatch(null)} />
    </>
  );
}

function mergedWords({ branch, commit }: Accepted): string {
  const at = commit === null ? "" : ` (${shortCommit(commit)})`;
  return branch === null ? "Merged." : `Merged into ${branch}${at}.`;
}

function Discard({ runId, isDisabled }: { runId: string; isDisabled: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const discard = useDiscard(runId);
  const doIt = () => discard.mutate(undefined, { onSuccess: () => setOpen(false) });
  return (
    <>
      <Button disabled={isDisabled || discard.isPending} onClick={() => setOpen(true)}>
        <Trash2 aria-hidden className="size-4" />
        Discard
      </Button>
      <Confirm
        title="Discard this work?"
        description="Its branch and its folder are removed. Your own files stay as they are, and git keeps its last commit."
        action="Discard"
        isOpen={isOpen}
        isUnderWay={discard.isPending}
        onOpenChange={setOpen}
        onConfirm={doIt}
      >
        {discard.isError && <ProblemNotice className="mt-3" error={discard.error} onRetry={doIt} />}
      </Confirm>
    </>
  );
}
