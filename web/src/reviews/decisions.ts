/** Decisions: what is sent, what became of them, in words. Pure. */
import type { Schemas } from "@/api/client";
import type { Tone } from "@/ui/badge";
import { closed } from "@/words/format";
import { type AmountTexts, grantOf } from "./amounts";
import type { Decision, Review } from "./review-queries";

const MOST_CHARS = 80;

export type Choice = Decision["decision"];

export type Form = { choice: Choice; amounts: AmountTexts; words: string };
export type FormProblems = { amounts: AmountTexts; grant?: string; words?: string };
export type ReadForm = { decision: Decision } | { problems: FormProblems };

/** The decision that a filled form stands for, or what is still wrong with it. */
export function decisionOf({ choice, amounts, words }: Form): ReadForm {
  const said = words.trim();
  const problems: FormProblems = { amounts: {} };
  if (choice === "rejected") {
    return said === ""
      ? { problems: { ...problems, words: "Say why: it stands in the record." } }
      : { decision: { decision: choice, why: said } };
  }
  if (choice === "needs_changes" && said === "") problems.words = "Say what the agent should do otherwise.";
  const read = grantOf(amounts);
  if ("wrong" in read) problems.amounts = read.wrong;
  if ("missing" in read) problems.grant = "Give it more of something, or it ends again at once.";
  if (problems.words !== undefined || !("grant" in read)) return { problems };
  const { grant } = read;
  if (choice === "needs_changes") return { decision: { decision: choice, feedback: said, grant } };
  return { decision: said === "" ? { decision: choice, grant } : { decision: choice, grant, why: said } };
}

export function decisionWord(decision: string): { word: string; tone: Tone } {
  switch (decision) {
    case "approved":
      return { word: "Approved", tone: "good" };
    case "needs_changes":
      return { word: "Changes asked for", tone: "accent" };
    case "rejected":
      return { word: "Rejected", tone: "stop" };
    default:
      return { word: decision, tone: "neutral" };
  }
}

/** What became of a decision of one's own. What counts may differ from what was asked for. */
export function outcomeWords(review: Review, decided: Schemas["Decided"]): string {
  const word = decisionWord(decided.decision).word.toLowerCase();
  const what = `${named(review)}: ${word}.`;
  if (decided.is_resumed) return `${what} The run goes on.`;
  if (decided.decision === "rejected") return `${what} The run has ended, with its work saved.`;
  return `${what} The run does not go on yet: ${closed(decided.why_not ?? "unknown why")}`;
}

export function keyOf(review: Pick<Review, "run_id" | "review_id">): string {
  return `${review.run_id}/${review.review_id}`;
}

/** The run and the review of a link; null if it is none. Neither has a slash. */
export function readKey(key: string | null): { runId: string; reviewId: string } | null {
  const [runId, reviewId, ...more] = (key ?? "").split("/");
  return runId && reviewId && more.length === 0 ? { runId, reviewId } : null;
}

/** Those that waited when one last looked, and were decided since by somebody, or in another tab. */
export function decidedElsewhere(
  before: readonly Review[],
  after: readonly Review[],
  own: ReadonlySet<string>,
): Review[] {
  const waited = new Set(before.filter((one) => one.decision === null).map(keyOf));
  return after.filter((one) => one.decision !== null && waited.has(keyOf(one)) && !own.has(keyOf(one)));
}

export function elsewhereWords(review: Review): string {
  const word = decisionWord(review.decision ?? "").word.toLowerCase();
  return `${named(review)}: decided meanwhile by ${review.decided_by ?? "somebody"}, ${word}.`;
}

/** The question of its run, as that is what one knows it by; cut if it is long. */
function named(review: Review): string {
  const text = review.question || review.why;
  return `“${text.length <= MOST_CHARS ? text : `${text.slice(0, MOST_CHARS - 1).trimEnd()}…`}”`;
}
