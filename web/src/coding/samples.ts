/** Parts of a session for tests to begin from. */
import type { Gravity, Issue, Round, TestsRun } from "./shapes";

export function tests(given: Partial<TestsRun>): TestsRun {
  return {
    after: "building",
    command: "pytest",
    exit_code: 0,
    seconds: 1,
    passed: null,
    failed: null,
    failing: [],
    timed_out: false,
    output: "",
    are_green: true,
    ...given,
  };
}

export function issue(gravity: Gravity, title: string): Issue {
  return { gravity, title, file: "", line: null, detail: "" };
}

export function round(given: Partial<Round>): Round {
  return {
    number: 1,
    tests: [],
    criteria: [],
    issues: [],
    left_out: 0,
    passes: [],
    similarity: null,
    cost_usd: "0.10",
    is_under_way: false,
    commit: "0123456789abcdef",
    files: 1,
    added: 1,
    removed: 0,
    open_issues: [],
    failing_tests: 0,
    summary: "",
    ...given,
  };
}
