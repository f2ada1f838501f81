import { QueryClient } from "@tanstack/react-query";
import { Problem } from "@/api/problem";

/** Everything that comes from the server is kept here, once. What was refused is not asked again by itself. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (times, error) => times < 2 && !(error instanceof Problem && error.status > 0),
    },
  },
});
