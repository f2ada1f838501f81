/** Coding sessions in words and colours. Pure. */
import type { Tone } from "@/ui/badge";
import { type Standing, standingOf } from "@/words/endings";
import { capital, money, plural, UNKNOWN } from "@/words/format";
import type { GitStanding, Gravity, PriceRules, Round, SessionRow, Step, TestsRun } from "./shapes";

const STEPS: Record<string, { word: string; about: string }> = {
  interview: { word: "Interview", about: "What you want, asked until it is clear" },
  specify: { word: "Specify", about: "What will be built, and how one can tell that it is done" },
  price: { word: "Price", about: "What it may cost at most, before anything is built" },
  build: { word: "Build", about: "Rounds of building, testing and criticising" },
  done: { word: "Done", about: "How it ended, and what becomes of the work" },
};

export function stepWord(name: string): string {
  return STEPS[name]?.word ?? capital(name);
}

export function stepAbout(name: string): string {
  return STEPS[name]?.about ?? "";
}

export type ShownStep = { name: string; standing: Step["standing"] };

/** The steps of the stepper. The last one is to be done, which is reached or not. */
export function shownSteps(steps: readonly Step[], isOver: boolean): ShownStep[] {
  const isDone = isOver && steps.every((step) => step.standing === "done");
  return [...steps, { name: "done", standing: isDone ? "done" : "waiting" }];
}

/** How a step stands, in a word or two. */
export function stepStandingWords({ name, standing }: ShownStep, isOver: boolean): string {
  switch (standing) {
    case "waiting":
      return isOver ? "not reached" : "to come";
    case "running":
      return "now";
    case "done":
      return name === "done" ? "reached" : "done";
    case "failed":
      return "ended here";
  }
}

const KINDS: Record<string, Standing> = {
  succeeded: { word: "Succeeded", tone: "good" },
  succeeded_with_warnings: { word: "Succeeded, with open points", tone: "notice" },
  abandoned: { word: "Abandoned", tone: "notice" },
  session_timeout: { word: "Out of time", tone: "notice" },
  session_exhausted: { word: "Out of model calls", tone: "notice" },
  budget_exhausted: { word: "Out of money", tone: "notice" },
  token_limit: { word: "Out of tokens", tone: "notice" },
  stuck: { word: "Stuck", tone: "notice" },
  cancelled: { word: "Cancelled", tone: "neutral" },
};

export function kindWord(kind: string): Standing {
  return KINDS[kind] ?? { word: capital(kind.replaceAll("_", " ")), tone: "neutral" };
}

const IN_GIT: Record<GitStanding, Standing> = {
  open: { word: "Yours to accept", tone: "accent" },
  accepted: { word: "Accepted", tone: "good" },
  discarded: { word: "Discarded", tone: "neutral" },
  gone: { word: "Gone from git", tone: "stop" },
};

export function gitWord(standing: GitStanding): Standing {
  return IN_GIT[standing];
}

/** How a session of a list stands: where it is, what it waits for, or how it ended. */
export function rowStanding(row: Pick<SessionRow, "phase" | "run_phase" | "ending">): Standing {
  if (row.run_phase === "RUNNING" && row.phase !== "concluded") {
    return { word: stepWord(row.phase), tone: "accent" };
  }
  return standingOf({ phase: row.run_phase, ending: row.ending, is_left_open: false });
}

/** What has become of the work, where a list has to tell. Where there is none, nothing. */
export function workStanding(row: Pick<SessionRow, "run_phase" | "ending" | "standing">): Standing | null {
  if (row.run_phase !== "ENDED" || row.standing === null) return null;
  const isGivenUp = /^(abandoned|failed)/.test(row.ending ?? "");
  return isGivenUp && row.standing !== "accepted" ? null : gitWord(row.standing);
}

export const GRAVITIES: Record<Gravity, { word: string; tone: Tone }> = {
  critical: { word: "Critical", tone: "stop" },
  major: { word: "Major", tone: "notice" },
  minor: { word: "Minor", tone: "neutral" },
};

const ORDER: readonly Gravity[] = ["critical", "major", "minor"];

/** Gravest first; among equals as they were found. */
export function gravestFirst<One extends { gravity: Gravity }>(issues: readonly One[]): One[] {
  return [...issues].sort((one, other) => ORDER.indexOf(one.gravity) - ORDER.indexOf(other.gravity));
}

/** Whether what these tests ran on was taken back afterwards: a simplification that was not kept. */
export function isTakenBack(tests: Pick<TestsRun, "after">, passes: Round["passes"]): boolean {
  return passes.some((pass) => !pass.is_kept && tests.after === `simplifying ${pass.number}`);
}

/** How tests went, in a sentence. What their output does not tell is left out. */
export function testsWords(tests: TestsRun): Standing {
  if (tests.timed_out) return { word: "Tests did not come to an end", tone: "stop" };
  const counted = [
    tests.passed === null ? null : `${tests.passed} passed`,
    tests.failed === null || (tests.failed === 0 && tests.are_green) ? null : `${tests.failed} failed`,
  ].filter((part) => part !== null);
  const figures = counted.length > 0 ? `: ${counted.join(", ")}` : "";
  return tests.are_green
    ? { word: `Tests pass${figures}`, tone: "good" }
    : { word: `Tests fail${figures}`, tone: "stop" };
}

/** How a round stands, for its heading. */
export function roundStanding(round: Round): Standing {
  if (round.is_under_way) return { word: "Under way", tone: "accent" };
  if (round.commit === null) return { word: "Did not come to its end", tone: "notice" };
  if (round.open_issues.length === 0) return { word: "Nothing open", tone: "good" };
  return { word: `${plural(round.open_issues.length, "point")} open`, tone: "notice" };
}

/** "+12 −3 in 2 files". A real minus, as wide as the plus. */
export function linesWords(round: Pick<Round, "added" | "removed" | "files">): string {
  if (round.added === null || round.removed === null) return UNKNOWN;
  const files = round.files === null ? "" : ` in ${plural(round.files, "file")}`;
  return `+${round.added} −${round.removed}${files}`;
}

/** A commit as people write it. */
export function shortCommit(commit: string): string {
  return commit.slice(0, 7);
}

/** A share of 1 as a percentage; a dash where there is nothing to compare. */
export function shareWords(share: number | null): string {
  return share === null ? "–" : `${Math.round(share * 100)} %`;
}

export function alternativeWord(kind: string): string {
  return capital(kind.replaceAll("_", " "));
}

/** Who decided, as the reader knows them. */
export function whoWords(by: string, reader: string | undefined): string {
  if (by === "policy") return "the policy";
  return by === reader ? "you" : by;
}

/** What the policy says to a price, and by which of its rules. */
export function policyWords(rules: PriceRules, isRejected: boolean): string {
  const most = money(rules.reject_over_usd);
  if (isRejected) return `The policy rejects what costs more than ${most} (price.reject_over_usd).`;
  const least = money(rules.auto_proceed_under_usd);
  return (
    `Under ${least} nobody is asked (price.auto_proceed_under_usd); ` +
    `over ${most} it is rejected (price.reject_over_usd).`
  );
}

/** The last folder of a path, for where there is little room. */
export function folderName(path: string): string {
  return path.split(/[\\/]/).filter(Boolean).at(-1) ?? path;
}

/** A command without the folders of its program: "/usr/bin/python3 -m pytest" is "python3 -m pytest". */
export function commandWords(command: string): string {
  return command.replace(/^\S*\/(?=\S)/, "");
}

/** Minutes of an estimate: no more digits than it is worth. */
export function minutesWords(minutes: number): string {
  if (minutes < 1) return "less than a minute";
  return `about ${plural(Math.round(minutes), "minute")}`;
}

export type Said = { text: string; isCode: boolean };

/** A sentence in which `commands` stand between backticks. */
export function saidParts(text: string): Said[] {
  return text
    .split("`")
    .map((part, index) => ({ text: part, isCode: index % 2 === 1 }))
    .filter((part) => part.text !== "");
}

const EXAMPLE = "example:";

export function isExample(model: string): boolean {
  return model.startsWith(EXAMPLE);
}

/** The example that a script plays, if the model is one. */
export function exampleName(model: string): string | null {
  return isExample(model) ? model.slice(EXAMPLE.length) : null;
}
