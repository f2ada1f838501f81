import { expect, it } from "vitest";
import { askedOf, missing, NOTHING_WANTED, notNumbers, type Wanted, yesUnderOf } from "./wanted";

const WANTED: Wanted = { ...NOTHING_WANTED, intent: " Add hours ", repository: "/shop/clock" };

it("sends nothing that was left empty", () => {
  expect(askedOf(WANTED)).toEqual({ intent: "Add hours", repository: "/shop/clock" });
});

it("sends limits in the sections of a policy, money as text", () => {
  const limits = { "session.minutes": "10", "session.tokens": "50,000", "price.reject_over_usd": "2.50" };
  expect(askedOf({ ...WANTED, limits, holdsInterview: false }).policy).toEqual({
    session: { minutes: 10, tokens: 50_000 },
    price: { reject_over_usd: "2.50" },
    interview: { is_on: false },
  });
});

it("sends model and test command where they were named", () => {
  expect(askedOf({ ...WANTED, model: "openai:gpt", testCommand: " make test " })).toMatchObject({
    model: "openai:gpt",
    test_command: "make test",
  });
});

it("says what is missing first", () => {
  expect(missing(NOTHING_WANTED, true)).toContain("what is to be built");
  expect(missing({ ...WANTED, repository: " " }, true)).toContain("repository");
  expect(missing(WANTED, true)).toContain("model");
  expect(missing({ ...WANTED, yesUnder: "a lot" }, false)).toContain("not a number");
  expect(missing(WANTED, false)).toBeNull();
});

it("names the fields with numbers that are none", () => {
  const wrong = { ...WANTED, limits: { "build.rounds": "two", "session.cost_usd": "1.5" }, yesUnder: "-1" };
  expect(notNumbers(wrong)).toEqual(["build.rounds", "yes_under_usd"]);
  expect(notNumbers({ ...WANTED, yesUnder: " " })).toEqual([]);
});

it("says up to what price nobody has to be asked, if anything was said", () => {
  expect(yesUnderOf(WANTED)).toBeUndefined();
  expect(yesUnderOf({ ...WANTED, yesUnder: " 2.00 " })).toBe("2.00");
});
