import { useId } from "react";
import { cx } from "@/ui/cx";

type TextFieldProps = {
  label: string;
  name: string;
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
  hint?: string;
  /** More than one: it can be written in lines. */
  rows?: number;
  most?: number;
  /** What is offered while one types. */
  choices?: readonly string[];
  isWrong?: boolean;
};

/** A line or a few of text, with its label and what is to be known about it. */
export function TextField({ rows = 1, isWrong = false, choices = [], ...props }: TextFieldProps) {
  const id = useId();
  const shared = {
    id,
    name: props.name,
    value: props.value,
    placeholder: props.placeholder,
    maxLength: props.most ?? 4_000,
    "aria-invalid": isWrong,
    "aria-describedby": props.hint === undefined ? undefined : `${id}-hint`,
    className: cx(
      "block w-full min-w-0 rounded-control border bg-panel px-3 text-sm placeholder:text-ink-faint",
      isWrong ? "border-stop" : "border-line-strong",
      rows > 1 ? "resize-y py-2" : "h-9",
    ),
  };
  return (
    <div className="min-w-0">
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {props.label}
      </label>
      {rows > 1 ? (
        <textarea {...shared} rows={rows} onChange={(event) => props.onChange(event.target.value)} />
      ) : (
        <input
          {...shared}
          type="text"
          autoComplete="off"
          spellCheck={false}
          list={choices.length > 0 ? `${id}-choices` : undefined}
          onChange={(event) => props.onChange(event.target.value)}
        />
      )}
      {choices.length > 0 && (
        <datalist id={`${id}-choices`}>
          {choices.map((choice) => (
            <option key={choice} value={choice} />
          ))}
        </datalist>
      )}
      {props.hint !== undefined && (
        <p id={`${id}-hint`} className="mt-1 text-xs text-ink-soft">
          {props.hint}
        </p>
      )}
    </div>
  );
}
