// @vitest-environment jsdom
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, beforeAll, expect, it } from "vitest";
import { SAMPLE } from "./sample";
import { standingsOf } from "./standings";
import { TreeList } from "./tree-list";
import { useFolds } from "./use-folds";

beforeAll(() => {
  Element.prototype.scrollIntoView = () => undefined; // jsdom has no scrolling
});
afterEach(cleanup);

function Stage({ statuses = null }: { statuses?: Record<number, string> | null }) {
  const [selected, select] = useState<number | null>(null);
  const folds = useFolds(SAMPLE, "sample", statuses, selected);
  const standings = statuses === null ? null : standingsOf(SAMPLE, statuses, [0]);
  return <TreeList name="sample" nodes={SAMPLE} onSelect={select} {...{ folds, selected, standings }} />;
}

const item = (name: RegExp) => screen.getByRole("treeitem", { name });

it("is walked with the arrow keys, and the focus goes along", async () => {
  render(<Stage />);
  const user = userEvent.setup();
  await user.tab();
  expect(document.activeElement?.getAttribute("data-index")).toBe("0");
  await user.keyboard("{ArrowDown}{ArrowDown}{ArrowDown}");
  expect(document.activeElement?.getAttribute("data-index")).toBe("3");
  expect(document.activeElement?.getAttribute("aria-selected")).toBe("true");
  await user.keyboard("{ArrowLeft}");
  expect(document.activeElement?.getAttribute("aria-expanded")).toBe("false");
  expect(screen.queryByText("deep")).toBeNull();
  await user.keyboard("{ArrowRight}{ArrowRight}");
  expect(document.activeElement?.getAttribute("data-index")).toBe("4");
  await user.keyboard("{End}");
  expect(document.activeElement?.getAttribute("data-index")).toBe("7");
});

it("has one stop for the Tab key, and says level, place and number", async () => {
  const { container } = render(<Stage />);
  expect(container.querySelectorAll('[role="treeitem"][tabindex="0"]')).toHaveLength(1);
  expect(item(/^b action$/).getAttribute("aria-level")).toBe("2");
  expect(item(/^b action$/).getAttribute("aria-posinset")).toBe("2");
  expect(item(/^b action$/).getAttribute("aria-setsize")).toBe("3");
});

it("shows the way that a run took, says how each node stands, and folds the rest", async () => {
  render(<Stage statuses={{ 0: "running", 1: "failure", 5: "success", 6: "success" }} />);
  expect(item(/^a sequence/).getAttribute("aria-expanded")).toBe("false");
  expect(item(/^a sequence \+3 below did not succeed$/)).toBeTruthy();
  expect(item(/^b action succeeded$/)).toBeTruthy();
  expect(item(/^c1 action not reached$/)).toBeTruthy();
});
