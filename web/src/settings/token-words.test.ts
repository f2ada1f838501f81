import { describe, expect, it } from "vitest";
import type { Token } from "./token-queries";
import { daysOf, tokenWords } from "./token-words";

const NOW = Date.parse("2026-03-10T12:00:00Z");
const TOKEN: Token = {
  id: "token_1",
  name: "laptop",
  state: "good",
  created_at: "2026-03-01T12:00:00Z",
  expires_at: "2026-03-22T13:00:00Z",
  revoked_at: null,
  used_at: null,
};

describe("a token in words", () => {
  it("says how long it is good, and whether it was used", () => {
    expect(tokenWords(TOKEN, NOW)).toBe("Good for 12 more days. Never used.");
    const used = { ...TOKEN, expires_at: "2026-03-10T20:00:00Z", used_at: "2026-03-10T09:00:00Z" };
    expect(tokenWords(used, NOW)).toBe("Good for less than a day. Last used 3 hours ago.");
  });

  it("says when it ended", () => {
    const revoked: Token = { ...TOKEN, state: "revoked", revoked_at: "2026-03-09T11:00:00Z" };
    expect(tokenWords(revoked, NOW)).toBe("Revoked yesterday. Never used.");
    const expired: Token = { ...TOKEN, state: "expired", expires_at: "2026-03-10T11:30:00Z" };
    expect(tokenWords(expired, NOW)).toBe("Expired 30 minutes ago. Never used.");
  });
});

it.each([
  ["90", 90],
  [" 1 ", 1],
  ["3650", 3_650],
  ["3651", null],
  ["0", null],
  ["1.5", null],
  ["a week", null],
  ["", null],
])("the days of %j are %s", (typed, days) => {
  expect(daysOf(typed)).toBe(days);
});
