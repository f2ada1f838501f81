import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useNavigate } from "react-router";
import { type Asked, ask, type NotAsked, type Question } from "./asking";
import { CONVERSATIONS, type ConversationDetail, conversationKey } from "./conversation-queries";
import { draftOf, keep } from "./kept";

export type Asking = {
  ask: (question: Question) => void;
  /** What was sent and is not in the conversation yet. */
  pending: string | null;
  problem: NotAsked | null;
};

/** Asks in one conversation; null for a new one, to which it leads. */
export function useAsking(conversationId: string | null, shown: ConversationDetail | undefined): Asking {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const isSending = useRef(false); // state comes a moment too late for a key that is pressed twice
  const sending = useMutation<Asked, NotAsked, Question & { from: string }>({
    mutationFn: ask,
    onSuccess: (asked, question) => {
      keep(draftOf(question.conversationId), "");
      queries.setQueryData<ConversationDetail>(conversationKey(asked.conversationId), (before) =>
        withQuestion(before, asked, question.query),
      );
      void queries.invalidateQueries({ queryKey: conversationKey(asked.conversationId) });
      void queries.invalidateQueries({ queryKey: CONVERSATIONS });
      void queries.invalidateQueries({ queryKey: ["runs"] });
      // Who has gone elsewhere meanwhile is left there.
      if (question.conversationId === null && window.location.pathname === question.from) {
        void navigate(`/c/${asked.conversationId}`);
      }
    },
    onSettled: () => {
      isSending.current = false;
    },
  });
  const { reset } = sending;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another conversation has nothing to do with it
  useEffect(() => reset, [reset, conversationId]);
  const isHere = sending.variables?.conversationId === conversationId;
  const isAsked = shown?.run_ids.includes(sending.data?.runId ?? "") ?? false;
  const isPending = sending.isPending || (sending.isSuccess && !isAsked);
  return {
    ask: (question) => {
      if (isSending.current) return;
      isSending.current = true;
      sending.mutate({ ...question, from: window.location.pathname });
    },
    pending: isHere && isPending ? (sending.variables?.query ?? null) : null,
    problem: isHere ? sending.error : null,
  };
}

/** The conversation as the server will tell it in a moment: nothing jumps when it does. */
export function withQuestion(
  before: ConversationDetail | undefined,
  asked: Asked,
  question: string,
): ConversationDetail {
  const started_at = new Date().toISOString();
  const known = before ?? {
    id: asked.conversationId,
    title: question,
    project: null,
    created_at: started_at,
    run_ids: [],
    branch_of: null,
    exchanges: [],
  };
  if (known.run_ids.includes(asked.runId)) return known;
  const exchange = {
    run_id: asked.runId,
    phase: "RUNNING",
    question,
    answer: null,
    ending: null,
    started_at,
  } as const;
  return {
    ...known,
    run_ids: [...known.run_ids, asked.runId],
    exchanges: [...known.exchanges, exchange],
  };
}
