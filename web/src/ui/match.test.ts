import { expect, it } from "vitest";
import { matched } from "./match";

it("finds what has every word in it, in any order", () => {
  expect(matched("x", "token second", ["Drips tokens", "Says one token a second"])).toBeGreaterThan(0);
  expect(matched("x", "SECOND drips", ["Drips tokens", "Says one token a second"])).toBeGreaterThan(0);
});

it("does not find letters that are scattered over a text", () => {
  expect(matched("model", "drips", ["endstop:extractive", "drives, rips"])).toBe(0);
});

it("puts a name before what is said of it, and its beginning first", () => {
  const begins = matched("x", "runa", ["Runaway", ""]);
  const within = matched("x", "away", ["Runaway", ""]);
  const told = matched("x", "turn", ["Runaway", "A new call each turn"]);
  expect([begins > within, within > told, told > 0]).toEqual([true, true, true]);
});

it("shows everything while nothing is typed", () => {
  expect(matched("x", " ", ["Runaway"])).toBeGreaterThan(0);
});
