import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RouterProvider } from "react-router";
import { takeKeyFromAddress } from "@/api/key";
import { queryClient } from "@/app/query-client";
import { router } from "@/app/routes";
import { applyTheme } from "@/app/theme";
import "@/styles/base.css";

applyTheme();
await takeKeyFromAddress();

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no root element");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router()} />
    </QueryClientProvider>
  </StrictMode>,
);
