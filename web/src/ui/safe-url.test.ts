import { expect, it } from "vitest";
import { safeUrl } from "./safe-url";

it.each([
  "https://example.org/a?b#c",
  "http://localhost:1",
  "/runs/run_1",
  "docs/a.md",
  "./a?b=c:d",
  "#part",
])("%s is let through", (url) => {
  expect(safeUrl(url)).toBe(url);
});

it.each([
  "javascript:alert(1)",
  "JaVaScRiPt:alert(1)",
  " java\nscript:alert(1)",
  "\u0001javascript:alert(1)",
  "data:text/html,x",
  "vbscript:x",
  "file:///etc/passwd",
  "blob:x",
  "//evil.example",
  "\\\\evil.example",
  "/\\evil.example",
  "mailto:a@b.c",
])("%j is not", (url) => {
  expect(safeUrl(url)).toBe("");
});
