import type { Ref } from "react";
import { cx } from "./cx";

export type Choice<Value extends string> = { value: Value; words: string };

type SelectProps<Value extends string> = {
  label: string;
  value: Value;
  choices: readonly Choice<Value>[];
  onChoose: (value: Value) => void;
  isDisabled?: boolean;
  /** The label stands there already, or what it says is clear from what is chosen. */
  isLabelHidden?: boolean;
  className?: string;
  ref?: Ref<HTMLSelectElement>;
};

/** One of a few, chosen. The browser's own: it is known to every keyboard, screen reader and phone. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  const { label, value, choices, isLabelHidden = false } = props;
  return (
    <label className={cx("flex min-w-0 flex-col gap-1 text-xs text-ink-soft", props.className)}>
      <span className={cx(isLabelHidden && "sr-only")}>{label}</span>
      <select
        ref={props.ref}
        value={value}
        disabled={props.isDisabled}
        onChange={(event) => {
          const chosen = choices.find((one) => one.value === event.target.value);
          if (chosen !== undefined) props.onChoose(chosen.value);
        }}
        className="h-9 w-full min-w-0 rounded-control border border-line-strong bg-panel px-2 text-sm text-ink disabled:opacity-50"
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.words}
          </option>
        ))}
      </select>
    </label>
  );
}
