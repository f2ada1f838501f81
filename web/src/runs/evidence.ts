/** A line of evidence, taken apart: "turn 3, call t3_1: echo(…)". */
export type Evidence = { where: string; what: string };

export function evidenceOf(line: string): Evidence {
  const found = /^(turn \d+(?:, call [^:]*)?): ([\s\S]*)$/.exec(line);
  return { where: found?.[1] ?? "", what: found?.[2] ?? line };
}
