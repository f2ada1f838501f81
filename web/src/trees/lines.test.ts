import { expect, it } from "vitest";
import { filesOf, nextOnLine, nodesByLine, problemsByLine } from "./lines";
import { SAMPLE } from "./sample";

const NODES = SAMPLE.map((node) => ({
  ...node,
  file: node.index < 5 ? "main.lua" : "other.lua",
  line: node.index === 4 ? null : 3 + (node.index % 2),
}));

it("names each file once, the tree's own first", () => {
  expect(filesOf(NODES, "other.lua")).toEqual(["other.lua", "main.lua"]);
  expect(filesOf([], "main.lua")).toEqual(["main.lua"]);
});

it("finds the nodes of a line in its own file only", () => {
  const lines = nodesByLine(NODES, "main.lua");
  expect([...lines].map(([line, nodes]) => [line, nodes.map((node) => node.index)])).toEqual([
    [3, [0, 2]],
    [4, [1, 3]],
  ]);
});

it("goes through the nodes of a line, click by click", () => {
  const line = nodesByLine(NODES, "main.lua").get(3) ?? [];
  const clicked = [null, 0, 2].map((selected) => nextOnLine(line, selected)?.index);
  expect(clicked).toEqual([0, 2, 0]);
  expect(nextOnLine([], null)).toBeUndefined();
});

it("marks the lines that have problems; what names no file belongs to the one looked at", () => {
  const problems = [
    { file: "main.lua", line: 4, what: "a" },
    { file: "trees/main.lua", line: 4, what: "b" },
    { file: "other.lua", line: 4, what: "c" },
    { file: null, line: 9, what: "d" },
    { file: "main.lua", line: null, what: "e" },
  ];
  const lines = problemsByLine(problems, "main.lua");
  expect([...lines].map(([line, all]) => [line, all.map((one) => one.what).join("")])).toEqual([
    [4, "ab"],
    [9, "d"],
  ]);
});
