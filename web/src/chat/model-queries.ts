import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, given } from "@/api/client";

export function useModels() {
  return useQuery({
    queryKey: ["models"] as const,
    queryFn: () => given(api.GET("/api/models")),
    staleTime: 60_000,
  });
}

/** What a question to this model can use at most, under the settings of whoever asks. */
export function useBound(model: string | null, turns: number | null) {
  const planned = {
    ...(model === null ? {} : { model }),
    ...(turns === null ? {} : { limits: { max_iterations: turns } }),
  };
  return useQuery({
    queryKey: ["bound", planned] as const,
    queryFn: () => given(api.POST("/api/bound", { body: planned })),
    placeholderData: keepPreviousData,
  });
}
