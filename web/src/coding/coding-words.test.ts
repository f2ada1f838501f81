import { expect, it } from "vitest";
import {
  commandWords,
  folderName,
  gravestFirst,
  isTakenBack,
  kindWord,
  linesWords,
  minutesWords,
  policyWords,
  roundStanding,
  rowStanding,
  saidParts,
  shareWords,
  shownSteps,
  stepStandingWords,
  testsWords,
  whoWords,
  workStanding,
} from "./coding-words";
import { issue, round, tests } from "./samples";

it.each([
  ["running", false, ["now", "to come"]],
  ["done", true, ["done", "reached"]],
  ["failed", true, ["ended here", "not reached"]],
] as const)(
  "says of a step that is %s how it stands, and whether the end is reached",
  (standing, isOver, words) => {
    const steps = shownSteps([{ name: "build", standing }], isOver);
    expect(steps.map((step) => stepStandingWords(step, isOver))).toEqual(words);
  },
);

it.each([
  ["ENDED", "completed", "open", "Yours to accept"],
  ["ENDED", "abandoned: The price was rejected", "open", undefined],
  ["ENDED", "abandoned: The builder failed", "accepted", "Accepted"],
  ["ENDED", "completed", null, undefined],
  ["RUNNING", null, "open", undefined],
] as const)(
  "says of a session that is %s (%s) and %s in git what became of its work",
  (run_phase, ending, standing, word) => {
    expect(workStanding({ run_phase, ending, standing })?.word).toBe(word);
  },
);

it("knows tests of what was taken back", () => {
  const pass = { number: 2, lines_before: 9, lines_after: 8, is_kept: false, why: "" };
  expect(isTakenBack({ after: "simplifying 2" }, [pass])).toBe(true);
  expect(isTakenBack({ after: "simplifying 2" }, [{ ...pass, is_kept: true }])).toBe(false);
  expect(isTakenBack({ after: "building" }, [pass])).toBe(false);
});

it("calls who decided as the reader knows them", () => {
  expect([whoWords("policy", "ana"), whoWords("ana", "ana"), whoWords("ben", "ana")]).toEqual([
    "the policy",
    "you",
    "ben",
  ]);
});

it("says what the policy says to a price, and where that stands", () => {
  const rules = { auto_proceed_under_usd: "1", reject_over_usd: "5.5" };
  expect(policyWords(rules, false)).toBe(
    "Under $1.00 nobody is asked (price.auto_proceed_under_usd); over $5.50 it is rejected (price.reject_over_usd).",
  );
  expect(policyWords(rules, true)).toBe(
    "The policy rejects what costs more than $5.50 (price.reject_over_usd).",
  );
});

it.each([
  ["stuck", "Stuck", "notice"],
  ["succeeded", "Succeeded", "good"],
  ["something_new", "Something new", "neutral"],
])("calls the ending %s %s", (kind, word, tone) => {
  expect(kindWord(kind)).toEqual({ word, tone });
});

it.each([
  ["price", "RUNNING", null, "Price"],
  ["price", "AWAIT_USER", null, "Waits for you"],
  ["build", "BUDGET_REVIEW", null, "Waits for a review"],
  ["concluded", "ENDED", "abandoned: The price was rejected", "Abandoned"],
] as const)("shows of a session in %s that is %s how it stands", (phase, run_phase, ending, word) => {
  expect(rowStanding({ phase, run_phase, ending }).word).toBe(word);
});

it("puts the gravest issues first, and keeps the order of equals", () => {
  const found = [issue("minor", "a"), issue("critical", "b"), issue("minor", "c"), issue("major", "d")];
  expect(gravestFirst(found).map(({ title }) => title)).toEqual(["b", "d", "a", "c"]);
});

it.each([
  [tests({ passed: 5, failed: 0, are_green: true }), "Tests pass: 5 passed"],
  [tests({ passed: 4, failed: 1, are_green: false }), "Tests fail: 4 passed, 1 failed"],
  [tests({ passed: null, failed: null, are_green: false }), "Tests fail"],
  [tests({ timed_out: true, are_green: false }), "Tests did not come to an end"],
])("says how tests went", (run, words) => {
  expect(testsWords(run).word).toBe(words);
});

it.each([
  [round({ is_under_way: true, commit: null }), "Under way"],
  [round({ commit: null }), "Did not come to its end"],
  [round({ commit: "abc", open_issues: [] }), "Nothing open"],
  [round({ commit: "abc", open_issues: ["one"] }), "1 point open"],
])("says how a round stands", (one, words) => {
  expect(roundStanding(one).word).toBe(words);
});

it("says what changed in a round, and that it is unknown while it is", () => {
  expect(linesWords({ added: 12, removed: 3, files: 2 })).toBe("+12 −3 in 2 files");
  expect(linesWords({ added: null, removed: null, files: null })).toBe("unknown");
});

it("compares rounds only where there is something to compare", () => {
  expect([shareWords(null), shareWords(0.666), shareWords(1)]).toEqual(["–", "67 %", "100 %"]);
});

it("writes an estimate of minutes without digits that nobody knows", () => {
  expect([minutesWords(0.4), minutesWords(1), minutesWords(7.6)]).toEqual([
    "less than a minute",
    "about 1 minute",
    "about 8 minutes",
  ]);
});

it.each([
  ["/usr/bin/python3 -m pytest tests/unit", "python3 -m pytest tests/unit"],
  ["make test", "make test"],
  ["./run", "run"],
])("shortens the command %s to %s", (command, words) => {
  expect(commandWords(command)).toBe(words);
});

it("takes the last folder of a path as its name", () => {
  expect([folderName("/shop/clock/"), folderName("C:\\work\\clock"), folderName("")]).toEqual([
    "clock",
    "clock",
    "",
  ]);
});

it("tells commands from the words around them", () => {
  expect(saidParts("Raise it with `endstop policy edit`.")).toEqual([
    { text: "Raise it with ", isCode: false },
    { text: "endstop policy edit", isCode: true },
    { text: ".", isCode: false },
  ]);
});
