// @vitest-environment jsdom
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it } from "vitest";
import type { Moment } from "./run-shapes";
import { TimelineList } from "./timeline-list";

afterEach(cleanup);

function moments(many: number): Moment[] {
  return Array.from({ length: many }, (_, seq) => ({
    seq,
    severity: seq % 2 === 0 ? "info" : "debug",
    time: "2026-01-01T00:00:00Z",
    at_s: seq,
    scope: "run",
    turn: null,
    type: "x",
    title: `Fact ${seq}`,
    detail: "",
  }));
}

it("draws a page of a long record, and the next when asked", async () => {
  render(<TimelineList moments={moments(10_000)} level="debug" />);
  expect(screen.getAllByRole("listitem")).toHaveLength(200);
  await userEvent.click(screen.getByRole("button", { name: "Show 200 more" }));
  expect(screen.getAllByRole("listitem")).toHaveLength(400);
  expect(screen.getByRole("status").textContent).toContain("400 of 10,000 shown");
});

it("counts those that match, and says when there are none", () => {
  const { rerender } = render(<TimelineList moments={moments(300)} level="info" />);
  expect(screen.getByRole("status").textContent).toContain("150 of 150 shown; the record has 300 facts");
  expect(screen.queryByRole("button")).toBeNull();
  rerender(<TimelineList moments={moments(300)} level="error" />);
  expect(screen.getByText("None among 300 facts.")).toBeTruthy();
});
