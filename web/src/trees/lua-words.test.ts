import { expect, it } from "vitest";
import { luaWords } from "./lua-words";

const kinds = (line: string) =>
  luaWords(line)
    .filter((word) => word.kind !== "plain")
    .map((word) => `${word.kind} ${word.text}`);

it.each([
  ['local a = BT.action("x -- y") -- z', ["keyword local", 'text "x -- y"', "comment -- z"]],
  ["return end_turn, ended, 3.5", ["keyword return", "number 3.5"]],
  ["x = 'it''s \\' fine'", ["text 'it''s \\' fine'"]],
  ['open = "never closed', ['text "never closed']],
  ["[[a long text]] do", ["text [[a long text]]", "keyword do"]],
  ["v2x", []],
])("%s", (line, wished) => {
  expect(kinds(line)).toEqual(wished);
});

it("loses nothing", () => {
  for (const line of ["", "  ", '<img src=x onerror="1">', "-- <b>", "a~=b..'c'"]) {
    expect(
      luaWords(line)
        .map((word) => word.text)
        .join(""),
    ).toBe(line);
  }
});
