import { CircleAlert } from "lucide-react";
import { isOf } from "./lines";
import type { TreeProblem } from "./tree-shapes";

/** What is wrong with a tree, each with its line. */
export function ProblemList({ problems, file }: { problems: readonly TreeProblem[]; file: string }) {
  return (
    <ul className="space-y-1.5 text-sm">
      {problems.map((problem, at) => (
        <li key={at} className="flex items-start gap-2">
          <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-stop" />
          <span className="min-w-0 [overflow-wrap:anywhere]">
            <span className="font-medium text-stop">{placeOf(problem, file)}</span> {problem.what}
          </span>
        </li>
      ))}
    </ul>
  );
}

function placeOf(problem: TreeProblem, file: string): string {
  const line = problem.line === null ? "" : `Line ${problem.line}`;
  if (isOf(problem, file) || problem.file === null) return line === "" ? "" : `${line}:`;
  return line === "" ? `${problem.file}:` : `${problem.file}, ${line.toLowerCase()}:`;
}
