import type { ReactNode } from "react";
import { cx } from "./cx";

type NumberFieldProps = {
  id: string;
  /** For those who cannot see what stands beside it; leave it out if a `<label>` points here. */
  label?: string;
  /** As it was typed: what is wrong stays, to be mended. */
  text: string;
  onText: (text: string) => void;
  onLeave?: () => void;
  unit?: ReactNode;
  unitBefore?: string;
  isWrong?: boolean;
  isDisabled?: boolean;
  describedBy?: string | undefined;
  placeholder?: string;
  className?: string;
};

/** A number to type. It is text to us: a browser's number field forgets what it does not understand. */
export function NumberField({ isWrong = false, isDisabled = false, ...props }: NumberFieldProps) {
  return (
    <div
      className={cx(
        "flex h-9 items-center gap-1 rounded-control border bg-panel px-2.5 text-sm",
        "focus-within:outline-2 focus-within:outline-offset-1 focus-within:outline-accent",
        isWrong ? "border-stop" : "border-line-strong",
        isDisabled && "opacity-50",
        props.className,
      )}
    >
      {props.unitBefore && <span className="text-ink-faint">{props.unitBefore}</span>}
      <input
        id={props.id}
        type="text"
        inputMode="decimal"
        autoComplete="off"
        value={props.text}
        disabled={isDisabled}
        placeholder={props.placeholder}
        aria-label={props.label}
        aria-invalid={isWrong}
        aria-describedby={props.describedBy}
        onChange={(event) => props.onText(event.target.value)}
        onBlur={props.onLeave}
        className="w-full min-w-0 bg-transparent text-right tabular-nums outline-none placeholder:text-ink-faint"
      />
      {props.unit && <span className="whitespace-nowrap text-ink-faint">{props.unit}</span>}
    </div>
  );
}
