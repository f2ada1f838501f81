import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, given, type Schemas } from "@/api/client";

export const CONVERSATIONS = ["conversations"] as const;
export const MOST_CONVERSATIONS = 200;

export type Conversation = Schemas["ConversationShape"];
export type ConversationDetail = Schemas["ConversationDetail"];
export type ExchangeShape = Schemas["Exchange"];

export function conversationKey(id: string | null) {
  return ["conversation", id] as const;
}

/** Newest first. */
export function useConversations() {
  return useQuery({
    queryKey: CONVERSATIONS,
    queryFn: () => given(api.GET("/api/conversations", { params: { query: { limit: MOST_CONVERSATIONS } } })),
  });
}

export function useConversation(id: string | null) {
  return useQuery({
    queryKey: conversationKey(id),
    queryFn: () =>
      given(
        api.GET("/api/conversations/{conversation_id}", { params: { path: { conversation_id: id ?? "" } } }),
      ),
    enabled: id !== null,
  });
}

export function useDeleteConversation() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      given(
        api.DELETE("/api/conversations/{conversation_id}", { params: { path: { conversation_id: id } } }),
      ),
    onSuccess: (_, id) => {
      queries.setQueryData<Conversation[]>(CONVERSATIONS, (all) => all?.filter((one) => one.id !== id));
      void queries.invalidateQueries({ queryKey: CONVERSATIONS });
    },
  });
}

/** A new conversation that shares another's beginning. */
export function useBranch() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id, afterRun }: { id: string; afterRun: string }) =>
      given(
        api.POST("/api/conversations/{conversation_id}/branch", {
          params: { path: { conversation_id: id } },
          body: { after_run: afterRun },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: CONVERSATIONS }),
  });
}
