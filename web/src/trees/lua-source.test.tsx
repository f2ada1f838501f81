// @vitest-environment jsdom
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, it } from "vitest";
import { LuaSource } from "./lua-source";
import { SAMPLE } from "./sample";
import type { TreeNode } from "./tree-shapes";

afterEach(cleanup);

const SOURCE = 'local a = 1\nreturn BT.tree("x")\n  <img src=x onerror="window.pwned = 1">\n';
const NODES: TreeNode[] = SAMPLE.slice(0, 3).map((node) => ({ ...node, line: node.index === 2 ? 3 : 2 }));

function Stage() {
  const [selected, select] = useState<number | null>(null);
  const node = selected === null ? null : (NODES[selected] ?? null);
  return (
    <>
      <output>{node?.name}</output>
      <LuaSource
        file="sample.lua"
        source={SOURCE}
        nodes={NODES}
        problems={[{ file: "sample.lua", line: 1, what: "is not used" }]}
        selected={node}
        onSelect={select}
      />
    </>
  );
}

it("selects the nodes of a line one after the other, and marks the line", async () => {
  const { container } = render(<Stage />);
  const user = userEvent.setup();
  const shown = () => container.querySelector("output")?.textContent;
  const line = screen.getByRole("button", { name: /return/ });
  await user.click(line);
  expect(shown()).toBe("root");
  expect(line.getAttribute("aria-current")).toBe("true");
  await user.click(line);
  expect(shown()).toBe("a");
  await user.click(line);
  expect(shown()).toBe("root");
});

it("has one stop for the Tab key; the arrows lead from line to line", async () => {
  const { container } = render(<Stage />);
  const user = userEvent.setup();
  await user.tab();
  await user.keyboard("{ArrowDown}{Enter}");
  expect(container.querySelector("output")?.textContent).toBe("a1");
  expect(container.querySelectorAll('button[tabindex="0"]')).toHaveLength(1);
});

it("marks lines with problems, and shows text as the text it is", () => {
  const { container } = render(<Stage />);
  expect(container.querySelector('[data-line="1"]')?.textContent).toContain("Problem:");
  expect(container.querySelector('[data-line="2"]')?.textContent).not.toContain("Problem:");
  expect(container.querySelector("img")).toBeNull();
});
