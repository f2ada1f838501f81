import { createBrowserRouter, Navigate } from "react-router";
import { Failed } from "./failed";
import { Shell } from "./shell";

/** Every view is its own piece of code, loaded when it is first opened. */
export function router() {
  return createBrowserRouter([
    {
      element: <Shell />,
      errorElement: <Failed />,
      hydrateFallbackElement: <div />,
      children: [
        {
          errorElement: <Failed />,
          children: [
            { path: "/", lazy: () => import("@/chat/chat-view") },
            { path: "/c/:conversationId", lazy: () => import("@/chat/chat-view") },
            { path: "/runs", lazy: () => import("@/runs/runs-view") },
            { path: "/runs/:runId", lazy: () => import("@/runs/run-view") },
            { path: "/reviews", lazy: () => import("@/reviews/reviews-view") },
            { path: "/trees", lazy: () => import("@/trees/trees-view") },
            { path: "/trees/:name", lazy: () => import("@/trees/tree-view") },
            { path: "/coding", lazy: () => import("@/coding/coding-view") },
            { path: "/coding/:runId", lazy: () => import("@/coding/session-view") },
            { path: "/settings", lazy: () => import("@/settings/settings-view") },
            { path: "*", element: <Navigate to="/" replace /> },
          ],
        },
      ],
    },
  ]);
}
