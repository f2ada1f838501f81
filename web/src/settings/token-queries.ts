import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, given, type Schemas } from "@/api/client";

export const TOKENS = ["tokens"] as const;

export type Token = Schemas["TokenShape"];
export type MadeToken = Schemas["MadeToken"];

/** Your tokens, newest first. None has its secret: nobody has kept it. */
export function useTokens() {
  return useQuery({ queryKey: TOKENS, queryFn: () => given(api.GET("/api/tokens")) });
}

export function useMakeToken() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (wanted: Schemas["NewTokenWanted"]) => given(api.POST("/api/tokens", { body: wanted })),
    onSuccess: () => queries.invalidateQueries({ queryKey: TOKENS }),
    gcTime: 0, // the answer has the secret, which is not to stay anywhere
  });
}

export function useRevokeToken() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (tokenId: string) =>
      given(api.DELETE("/api/tokens/{token_id}", { params: { path: { token_id: tokenId } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: TOKENS }),
  });
}
