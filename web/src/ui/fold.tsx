import { ChevronRight } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { cx } from "./cx";

/** One line that opens to more. What is folded is not drawn at all. */
export function Fold(props: {
  line: ReactNode;
  isOpenAtFirst?: boolean;
  className?: string;
  children: ReactNode;
}) {
  const [isOpen, setOpen] = useState(props.isOpenAtFirst ?? false);
  const id = useId();
  return (
    <div className={cx("min-w-0", props.className)}>
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setOpen(!isOpen)}
        className="flex min-h-7 w-full min-w-0 items-center gap-1.5 rounded text-left text-sm text-ink-soft hover:text-ink"
      >
        <ChevronRight
          aria-hidden
          className={cx("size-3.5 shrink-0 transition-transform", isOpen && "rotate-90")}
        />
        {props.line}
      </button>
      {isOpen && <div id={id}>{props.children}</div>}
    </div>
  );
}
