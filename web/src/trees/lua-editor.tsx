import { useEffect, useId, useRef } from "react";
import { cx } from "@/ui/cx";

const LINE_PX = 20;

type LuaEditorProps = {
  text: string;
  onText: (text: string) => void;
  /** The line of the selected node. */
  line: number | null;
  wrong: ReadonlyMap<number, unknown>;
  describedBy: string;
};

/** A text to change, with line numbers. The Tab key is left alone: it leads out, as everywhere. */
export function LuaEditor({ text, onText, line, wrong, describedBy }: LuaEditorProps) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const numbers = useRef<HTMLDivElement>(null);
  const count = text.split("\n").length;
  useEffect(() => area.current?.focus(), []); // whoever opens it wants to type
  useEffect(() => {
    const box = area.current;
    if (box === null || line === null) return;
    const top = (line - 1) * LINE_PX;
    if (top < box.scrollTop || top + 2 * LINE_PX > box.scrollTop + box.clientHeight) {
      box.scrollTop = top - box.clientHeight / 3;
    }
  }, [line]);
  return (
    <div className="flex h-full min-h-0 font-mono text-xs leading-5">
      <label htmlFor={id} className="sr-only">
        The text of the tree
      </label>
      <div
        ref={numbers}
        aria-hidden
        className="w-11 shrink-0 overflow-hidden py-2 text-ink-faint select-none"
      >
        {Array.from({ length: count }, (_, at) => at + 1).map((number) => (
          <div
            key={number}
            className={cx(
              "h-5 pr-3 text-right",
              wrong.has(number) && "bg-stop-soft font-bold text-stop",
              number === line && !wrong.has(number) && "bg-accent-soft text-accent",
            )}
          >
            {number}
          </div>
        ))}
        <div className="h-8" />
      </div>
      <textarea
        ref={area}
        id={id}
        value={text}
        wrap="off"
        spellCheck={false}
        autoCapitalize="off"
        autoCorrect="off"
        aria-invalid={wrong.size > 0}
        aria-describedby={describedBy}
        onChange={(event) => onText(event.target.value)}
        onScroll={(event) => {
          if (numbers.current !== null) numbers.current.scrollTop = event.currentTarget.scrollTop;
        }}
        className="min-w-0 flex-1 resize-none bg-transparent py-2 pr-4 pl-1 leading-5 whitespace-pre focus-visible:-outline-offset-2"
      />
    </div>
  );
}
