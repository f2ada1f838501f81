import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, given } from "./client";
import { forgetKey } from "./key";

export const SESSION = ["session"] as const;

/** Who is signed in. A refusal (401) means nobody is. */
export function useSession() {
  return useQuery({ queryKey: SESSION, queryFn: () => given(api.GET("/api/session")), staleTime: 60_000 });
}

export function useSignOut(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await given(api.DELETE("/api/session"));
    forgetKey();
    queries.clear();
  };
}
