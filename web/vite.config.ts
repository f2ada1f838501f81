import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const beside = process.env.ENDSTOP_DEV_SERVER ?? "http://127.0.0.1:8765";

export default defineConfig({
  plugins: [react(), tailwindcss()],
  resolve: { alias: { "@": here("./src") } },
  build: {
    // Into the Python package: the wheel carries the page, and `endstop serve` serves it.
    outDir: here("../src/endstop/page"),
    emptyOutDir: true,
    chunkSizeWarningLimit: 400,
  },
  server: {
    // `npm run dev` beside a running `endstop serve`. The server lets in its own page only, so the proxy speaks
    // as if it were that.
    proxy: {
      "/api": { target: beside, changeOrigin: true, headers: { origin: beside } },
    },
  },
  // A test that needs a page says so in its first line; setting one up takes longer than most tests.
  test: { environment: "node", include: ["src/**/*.test.{ts,tsx}"], restoreMocks: true },
});
