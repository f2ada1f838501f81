import type { components } from "./schema";

export type ProblemDetail = components["schemas"]["ProblemDetail"];

/** What the server refused, or that it could not be reached: what happened, and what to do. */
export class Problem extends Error {
  readonly status: number;
  readonly detail: ProblemDetail;

  constructor(status: number, detail: ProblemDetail) {
    super(detail.what);
    this.status = status;
    this.detail = detail;
  }
}

const UNREACHABLE: ProblemDetail = {
  code: "unreachable",
  what: "The server cannot be reached",
  allowed: "",
  to_do: "Is `endstop serve` still running? Start it again, and try once more.",
  field: null,
  value: null,
  bounds: null,
};

/** The problem in the body of a response that failed; something to say even if there is none in it. */
export function problemOf(status: number, body: unknown): Problem {
  if (typeof body === "object" && body !== null && "error" in body) {
    return new Problem(status, (body as { error: ProblemDetail }).error);
  }
  return new Problem(status, {
    ...UNREACHABLE,
    code: "unexpected",
    what: `The server answered with ${status}, and does not say why`,
    to_do: "Try once more. If it stays so, look at the server's log.",
  });
}

export function asProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, UNREACHABLE);
}
