import { GitBranch, SquarePen, Trash2 } from "lucide-react";
import { useState } from "react";
import { NavLink, useNavigate } from "react-router";
import { Button } from "@/ui/button";
import { cx } from "@/ui/cx";
import { Empty, Loading, ProblemNotice } from "@/ui/states";
import { ago, moment } from "@/words/format";
import { type Conversation, MOST_CONVERSATIONS, useConversations } from "./conversation-queries";
import { DeleteConversation } from "./delete-conversation";

type ConversationListProps = { currentId: string | null; onChosen?: () => void };

export function ConversationList({ currentId, onChosen }: ConversationListProps) {
  const conversations = useConversations();
  const navigate = useNavigate();
  const [toDelete, setToDelete] = useState<Conversation | null>(null);
  const begin = () => {
    void navigate("/");
    onChosen?.();
  };
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="p-3">
        <Button className="w-full" onClick={begin}>
          <SquarePen aria-hidden className="size-4" />
          New chat
        </Button>
      </div>
      <nav aria-label="Conversations" className="relative min-h-0 flex-1 overflow-y-auto px-2 pb-3">
        {conversations.isPending && <Loading />}
        {conversations.isError && !conversations.data && (
          <ProblemNotice error={conversations.error} onRetry={() => void conversations.refetch()} />
        )}
        {conversations.data && (
          <Listed all={conversations.data} currentId={currentId} onChosen={onChosen} onDelete={setToDelete} />
        )}
      </nav>
      {toDelete && (
        <DeleteConversation
          conversation={toDelete}
          isCurrent={toDelete.id === currentId}
          onClose={() => setToDelete(null)}
        />
      )}
    </div>
  );
}

function Listed(props: {
  all: readonly Conversation[];
  currentId: string | null;
  onChosen: (() => void) | undefined;
  onDelete: (conversation: Conversation) => void;
}) {
  if (props.all.length === 0) {
    return <Empty title="No conversations yet">What you ask is kept here, and found again.</Empty>;
  }
  const titles = new Map(props.all.map((one) => [one.id, one.title]));
  return (
    <>
      <ul className="space-y-0.5">
        {props.all.map((one) => (
          <Row
            key={one.id}
            conversation={one}
            branchOf={one.branch_of === null ? null : (titles.get(one.branch_of) ?? "another conversation")}
            isCurrent={one.id === props.currentId}
            onChosen={props.onChosen}
            onDelete={() => props.onDelete(one)}
          />
        ))}
      </ul>
      {props.all.length >= MOST_CONVERSATIONS && (
        <p className="p-2 text-xs text-ink-faint">
          The newest {MOST_CONVERSATIONS}. Older ones are found under Runs.
        </p>
      )}
    </>
  );
}

function Row(props: {
  conversation: Conversation;
  branchOf: string | null;
  isCurrent: boolean;
  onChosen: (() => void) | undefined;
  onDelete: () => void;
}) {
  const { id, title, created_at } = props.conversation;
  return (
    <li
      className={cx(
        "group flex items-center rounded-control",
        props.isCurrent ? "bg-accent-soft" : "hover:bg-line/50",
      )}
    >
      <NavLink
        to={`/c/${encodeURIComponent(id)}`}
        onClick={() => props.onChosen?.()}
        className="min-w-0 flex-1 rounded-control px-2.5 py-1.5"
      >
        <span className="block truncate text-sm" title={title}>
          {title || "Without a title"}
        </span>
        <span className="block truncate text-xs text-ink-faint">
          <time dateTime={created_at} title={moment(created_at)}>
            {ago(created_at)}
          </time>
          {props.branchOf !== null && (
            <span title={`Branch of ${props.branchOf}`}>
              {" · "}
              <GitBranch aria-hidden className="inline size-3" /> branch of {props.branchOf}
            </span>
          )}
        </span>
      </NavLink>
      <button
        type="button"
        aria-label={`Delete ${title}`}
        title="Delete"
        onClick={props.onDelete}
        className="mr-1 rounded-control p-1.5 text-ink-faint group-hover:opacity-100 hover:text-stop focus-visible:opacity-100 [@media(hover:hover)]:opacity-0"
      >
        <Trash2 aria-hidden className="size-4" />
      </button>
    </li>
  );
}
