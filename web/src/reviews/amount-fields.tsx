import { useId } from "react";
import { NumberField } from "@/ui/number-field";
import { count, duration, money } from "@/words/format";
import { type AmountName, type AmountTexts, grantable, type Meters } from "./amounts";

type AmountFieldsProps = {
  meters: Meters | undefined;
  texts: AmountTexts;
  wrong: AmountTexts;
  problem: string | undefined;
  isDisabled: boolean;
  onText: (name: AmountName, text: string) => void;
};

/** How much more it gets, of each limit that it has. */
export function AmountFields({ meters, texts, wrong, problem, isDisabled, onText }: AmountFieldsProps) {
  const id = useId();
  return (
    <fieldset className="mt-4" disabled={isDisabled} aria-describedby={`${id}-hint`}>
      <legend className="mb-1 text-sm font-medium">How much more?</legend>
      <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
        {grantable(meters).map(({ name, meter, title, unit, isMoney }) => {
          const known = meters?.[meter];
          return (
            <div key={name} className="min-w-0">
              <label htmlFor={`${id}-${name}`} className="block text-xs text-ink-soft">
                {title}
              </label>
              <NumberField
                id={`${id}-${name}`}
                text={texts[name] ?? ""}
                onText={(text) => onText(name, text)}
                unit={unit}
                {...(isMoney ? { unitBefore: "$" } : {})}
                placeholder="0"
                isWrong={wrong[name] !== undefined}
                describedBy={`${id}-${name}-about`}
              />
              <p
                id={`${id}-${name}-about`}
                className={
                  wrong[name] === undefined ? "mt-0.5 text-xs text-ink-faint" : "mt-0.5 text-xs text-stop"
                }
              >
                {wrong[name] ?? (known ? usedWords(meter, known) : "")}
              </p>
            </div>
          );
        })}
      </div>
      <p
        id={`${id}-hint`}
        aria-live="polite"
        className={problem ? "mt-2 text-xs text-stop" : "mt-2 text-xs text-ink-faint"}
      >
        {problem ??
          "Filled in: about as much as it needs for a few more turns, at its pace so far. Change it as you like."}
      </p>
    </fieldset>
  );
}

function usedWords(meter: string, { used, limit }: Meters[string]): string {
  switch (meter) {
    case "cost_usd":
      return `used ${money(used)} of ${money(limit)}`;
    case "seconds":
      return `used ${duration(Number(used))} of ${duration(Number(limit))}`;
    default:
      return `used ${count(Number(used))} of ${count(Number(limit))}`;
  }
}
