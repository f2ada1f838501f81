import { expect, it } from "vitest";
import { chipWords, linesOf } from "./passage";

it.each([
  ["src/a.py:12", [12, 13]],
  ["src/a.py:12-13", [12, 13]],
  ["src/a.py#L7-L8", [7, 8]],
  ["docs/a.md", [null, null]],
  ["http://127.0.0.1:8080", [null, null]],
])("%s numbers its lines as %j", (location, numbers) => {
  expect(linesOf({ location, passage: "a\nb\n" }).map((line) => line.number)).toEqual(numbers);
});

it("shortens long paths on a chip, and nothing else", () => {
  expect(chipWords({ title: "src/endstop/kernel/budget.py", location: "x" })).toBe("…/kernel/budget.py");
  expect(chipWords({ title: "How limits work", location: "docs/a.md:1" })).toBe("How limits work");
  expect(chipWords({ title: "a/b/c.py", location: "a/b/c.py:12" })).toBe("…/b/c.py:12");
  expect(chipWords({ title: " ", location: "a.py:1" })).toBe("a.py:1");
});
