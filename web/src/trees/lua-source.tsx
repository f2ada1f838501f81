import { CircleAlert } from "lucide-react";
import { type KeyboardEvent, memo, useEffect, useMemo, useRef } from "react";
import { cx } from "@/ui/cx";
import { nextOnLine, nodesByLine, problemsByLine } from "./lines";
import { type LuaWord, luaWords } from "./lua-words";
import { kindWords } from "./node-words";
import type { TreeNode, TreeProblem } from "./tree-shapes";

type LuaSourceProps = {
  file: string;
  source: string;
  nodes: readonly TreeNode[];
  problems: readonly TreeProblem[];
  selected: TreeNode | null;
  onSelect: (index: number) => void;
};

/** A file with line numbers. A line that makes nodes can be pressed: that selects them, one after the other. */
export function LuaSource({ file, source, nodes, problems, selected, onSelect }: LuaSourceProps) {
  const box = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => source.replace(/\n$/, "").split("\n"), [source]);
  const made = useMemo(() => nodesByLine(nodes, file), [nodes, file]);
  const wrong = useMemo(() => problemsByLine(problems, file), [problems, file]);
  const line = selected?.file === file ? selected.line : null;
  const tabStop = line !== null && made.has(line) ? line : Math.min(...made.keys());
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text is scrolled to the line, too
  useEffect(() => {
    if (line !== null) scrollWithin(box.current, line);
  }, [line, source]);
  const press = (event: KeyboardEvent) => {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by === 0 || !(event.target instanceof HTMLButtonElement)) return;
    event.preventDefault();
    const buttons = [...(box.current?.querySelectorAll("button") ?? [])];
    buttons[buttons.indexOf(event.target) + by]?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only passes the arrow keys on between its buttons
    <div
      ref={box}
      onKeyDown={press}
      className="relative h-full overflow-auto py-2 font-mono text-xs leading-5"
    >
      <ol className="w-max min-w-full">
        {lines.map((text, at) => {
          const number = at + 1;
          const there = made.get(number);
          return (
            <li key={at} data-line={number} className={cx(lineColour(number === line, wrong.has(number)))}>
              {there === undefined ? (
                <Line number={number} text={text} problems={wrong.get(number)} />
              ) : (
                <button
                  type="button"
                  tabIndex={number === tabStop ? 0 : -1}
                  aria-current={number === line ? "true" : undefined}
                  title={there.map((node) => `${kindWords(node)} ${node.name}`).join(", ")}
                  onClick={() =>
                    onSelect((nextOnLine(there, selected?.index ?? null) ?? there[0])?.index ?? 0)
                  }
                  className="w-full text-left hover:bg-line/50 focus-visible:-outline-offset-2"
                >
                  <Line number={number} text={text} problems={wrong.get(number)} />
                </button>
              )}
            </li>
          );
        })}
      </ol>
    </div>
  );
}

function lineColour(isSelected: boolean, isWrong: boolean): string {
  if (isSelected) return "bg-accent-soft";
  return isWrong ? "bg-stop-soft" : "";
}

const COLOURS: Record<LuaWord["kind"], string> = {
  plain: "",
  comment: "text-ink-faint italic",
  text: "text-good",
  number: "text-notice",
  keyword: "text-accent",
};

type LineProps = { number: number; text: string; problems: readonly TreeProblem[] | undefined };

const Line = memo(function Line({ number, text, problems }: LineProps) {
  return (
    <span className="flex pr-4">
      <span className="flex w-12 shrink-0 items-center justify-end gap-1 pr-3 text-ink-faint select-none">
        {problems !== undefined && (
          <span title={problems.map((one) => one.what).join("\n")}>
            <CircleAlert aria-hidden className="size-3 text-stop" />
            <span className="sr-only">Problem: </span>
          </span>
        )}
        {number}
      </span>
      <span className="whitespace-pre">
        {luaWords(text).map((word, at) => (
          <span key={at} className={COLOURS[word.kind]}>
            {word.text}
          </span>
        ))}
        {text === "" && "\u00a0"}
      </span>
    </span>
  );
});

/** The page itself stays where it is. */
function scrollWithin(box: HTMLElement | null, line: number): void {
  const row = box?.querySelector<HTMLElement>(`[data-line="${line}"]`);
  if (!box || !row) return;
  const isSeen =
    row.offsetTop >= box.scrollTop && row.offsetTop + row.offsetHeight <= box.scrollTop + box.clientHeight;
  if (!isSeen) box.scrollTop = row.offsetTop - box.clientHeight / 3;
}
