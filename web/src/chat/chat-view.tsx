import { PanelLeft, SquarePen } from "lucide-react";
import { useCallback, useRef, useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { Button } from "@/ui/button";
import { Drawer } from "@/ui/drawer";
import { Loading, ProblemNotice } from "@/ui/states";
import { MORE_TURNS } from "@/words/offers";
import { Composer } from "./composer";
import { ConversationList } from "./conversation-list";
import { useBranch, useConversation } from "./conversation-queries";
import { draftOf, keep, kept, MODEL } from "./kept";
import { Rail } from "./rail/rail";
import { RailStrip } from "./rail/rail-strip";
import { useFigures, useIsUnderWay } from "./run-queries";
import { Starter } from "./starter";
import { Thread } from "./thread";
import { useAsking } from "./use-asking";

/** What a run is asked that has ended at a limit. Those that are paused need not be asked. */
const GO_ON = "Go on from where you stopped.";

/** Conversations left, the chat in the middle, what is left of the budget right. */
export function Component() {
  const { conversationId = null } = useParams();
  const conversation = useConversation(conversationId);
  const last = conversation.data?.exchanges.at(-1) ?? null;
  const runId = last?.run_id ?? null;
  const isUnderWay = useIsUnderWay(conversationId, last);
  const asking = useAsking(conversationId, conversation.data);
  const branching = useBranching(conversationId);
  const field = useRef<HTMLTextAreaElement>(null);
  const again = useAskingAgain(conversationId, runId, field);
  const write = useCallback(
    (question: string, model?: string) => {
      keep(draftOf(conversationId), question);
      if (model !== undefined) keep(MODEL, model);
      field.current?.focus();
    },
    [conversationId],
  );
  const model = useFigures(runId).data?.model;
  const isNew = conversationId === null && asking.pending === null;
  return (
    <div className="flex h-full">
      <aside className="w-64 shrink-0 border-r border-line bg-panel max-lg:hidden" aria-label="Conversations">
        <ConversationList currentId={conversationId} />
      </aside>
      <div className="flex min-w-0 flex-1 flex-col">
        <ChatHeader conversationId={conversationId} title={conversation.data?.title ?? null} />
        <Thread
          conversation={conversation.data}
          pending={asking.pending}
          onBranch={branching.branch}
          onAskAgain={again.ask}
          onGoOn={() =>
            // By whoever answered: the model that is chosen for the next question may be another.
            asking.ask({
              query: GO_ON,
              conversationId,
              model: model ?? (kept(MODEL) || null),
              turns: MORE_TURNS,
            })
          }
        >
          {isNew && <Starter onQuestion={write} />}
          {conversationId !== null && conversation.isPending && <Loading what="Opening the conversation" />}
          {conversation.isError && !conversation.data && (
            <ProblemNotice error={conversation.error} onRetry={() => void conversation.refetch()} />
          )}
        </Thread>
        <div className="mx-auto w-full max-w-3xl px-4 pt-1 pb-3">
          {branching.error !== null && (
            <ProblemNotice className="mb-2" error={branching.error} onRetry={branching.again} />
          )}
          {runId !== null && (
            <div className="xl:hidden">
              <RailStrip runId={runId} isUnderWay={isUnderWay} />
            </div>
          )}
          <Composer
            conversationId={conversationId}
            project={conversation.data?.project ?? null}
            runId={runId}
            isUnderWay={isUnderWay}
            asking={asking}
            turns={again.turns}
            onTurns={again.setTurns}
            field={field}
          />
        </div>
      </div>
      <aside
        className="relative w-72 shrink-0 overflow-y-auto border-l border-line bg-panel max-xl:hidden"
        aria-label="Budget of the run"
      >
        <Rail runId={runId} isUnderWay={isUnderWay} />
      </aside>
    </div>
  );
}

function ChatHeader({ conversationId, title }: { conversationId: string | null; title: string | null }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <header className="flex h-12 shrink-0 items-center gap-2 border-b border-line px-2 sm:px-4">
      <Button
        look="ghost"
        size="icon"
        className="lg:hidden"
        aria-label="Conversations"
        onClick={() => setOpen(true)}
      >
        <PanelLeft aria-hidden className="size-5" />
      </Button>
      <h1 className="min-w-0 flex-1 truncate text-sm font-semibold" title={title ?? undefined}>
        {conversationId === null ? "New chat" : (title ?? "Chat")}
      </h1>
      <Link
        to="/"
        aria-label="New chat"
        className="rounded-control p-2 text-ink-soft hover:text-ink lg:hidden"
      >
        <SquarePen aria-hidden className="size-5" />
      </Link>
      <Drawer title="Conversations" side="left" isOpen={isOpen} onOpenChange={setOpen}>
        <ConversationList currentId={conversationId} onChosen={() => setOpen(false)} />
      </Drawer>
    </header>
  );
}

function useBranching(conversationId: string | null) {
  const navigate = useNavigate();
  const { mutate, isPending, error, variables } = useBranch();
  const branch = useCallback(
    (afterRun: string) => {
      if (conversationId === null || isPending) return;
      mutate({ id: conversationId, afterRun }, { onSuccess: (made) => void navigate(`/c/${made.id}`) });
    },
    [conversationId, isPending, mutate, navigate],
  );
  const isHere = variables?.id === conversationId;
  const again = () => variables && branch(variables.afterRun);
  return { branch, again, error: isHere ? error : null };
}

/** Asking once more: with more turns, if those had run out. It can be read before it is sent. */
function useAskingAgain(
  conversationId: string | null,
  runId: string | null,
  field: React.RefObject<HTMLTextAreaElement | null>,
) {
  const [chosen, setChosen] = useState<{ runId: string | null; turns: number | null }>({
    runId,
    turns: null,
  });
  const had = useFigures(runId).data?.meters.turns;
  const more = had !== undefined && had.percent >= 100 ? Number(had.limit) + MORE_TURNS : null;
  const ask = useCallback(
    (question: string) => {
      const draft = draftOf(conversationId);
      if (kept(draft).trim() === "") keep(draft, question);
      setChosen({ runId, turns: more });
      field.current?.focus();
    },
    [conversationId, runId, more, field],
  );
  // It was meant for one question: the next run is another.
  const turns = chosen.runId === runId ? chosen.turns : null;
  const setTurns = (next: number | null) => setChosen({ runId, turns: next });
  return { ask, turns, setTurns };
}
