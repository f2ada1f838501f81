import { expect, it } from "vitest";
import { followsAfter, isAtEnd, type Scrolled } from "./stick";

const END: Scrolled = { top: 500, height: 1_000, shown: 500 };

it("is at the end when the last line shows", () => {
  expect(isAtEnd(END)).toBe(true);
  expect(isAtEnd({ ...END, top: 480 })).toBe(true);
  expect(isAtEnd({ ...END, top: 300 })).toBe(false);
});

it("lets go when somebody moves up, by however little", () => {
  expect(followsAfter(true, END, { ...END, top: 495 })).toBe(false);
  expect(followsAfter(true, END, { ...END, top: 495, height: 1_040 })).toBe(false);
});

it("goes on following while text comes faster than it is scrolled", () => {
  expect(followsAfter(true, END, { ...END, height: 1_200 })).toBe(true);
});

it("does not let go when text was taken back, or the window grew", () => {
  expect(followsAfter(true, END, { top: 400, height: 900, shown: 500 })).toBe(true);
  expect(followsAfter(true, END, { top: 400, height: 1_000, shown: 600 })).toBe(true);
});

it("follows again once somebody is back at the end, and not before", () => {
  const up = { ...END, top: 100 };
  expect(followsAfter(false, up, { ...END, top: 300 })).toBe(false);
  expect(followsAfter(false, up, END)).toBe(true);
});
