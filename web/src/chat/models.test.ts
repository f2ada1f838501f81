import { expect, it } from "vitest";
import { isModelName, sharedOnce, shortName } from "./models";

const player = (about: string) => ({ name: "playground:x", title: "X", about, ends: "It ends." });

it("says once what all players have in common", () => {
  const told = sharedOnce([
    player("Runs away. At most 12 turns. Nothing leaves."),
    player("Loops. At most 12 turns. Nothing leaves."),
  ]);
  expect(told.shared).toBe("At most 12 turns. Nothing leaves.");
  expect(told.players.map((one) => one.about)).toEqual(["Runs away.", "Loops."]);
});

it("leaves them as they are when they have nothing in common", () => {
  const players = [player("Runs away. Fast."), player("Loops. Slowly.")];
  expect(sharedOnce(players)).toEqual({ shared: "", players });
});

it("leaves each a sentence of its own", () => {
  const players = [player("Loops."), player("Loops.")];
  expect(sharedOnce(players).players.map((one) => one.about)).toEqual(["Loops.", "Loops."]);
});

it.each([
  ["anthropic:claude-sonnet-5", true],
  ["local:/models/a.gguf", true],
  ["anthropic:", false],
  ["anthropic", false],
  ["a b:c", false],
])("knows whether %s names a model", (text, expected) => {
  expect(isModelName(text)).toBe(expected);
});

it("names players as people do", () => {
  expect(shortName("playground:never_stops")).toBe("Never stops");
  expect(shortName("openai:gpt-5")).toBe("openai:gpt-5");
});
