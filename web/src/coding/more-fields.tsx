import { useId } from "react";
import { NumberField } from "@/ui/number-field";
import { TextField } from "./text-field";
import { LIMITS, type LimitKey, notNumbers, type Wanted } from "./wanted";

type MoreFieldsProps = {
  wanted: Wanted;
  onChange: (part: Partial<Wanted>) => void;
  /** What the server refused: `tests.command`, `session.minutes`. */
  wrongField: string | null;
};

/** What a session may be told apart from its intent. What is left empty is as the policy says. */
export function MoreFields({ wanted, onChange, wrongField }: MoreFieldsProps) {
  const id = useId();
  const wrong = notNumbers(wanted);
  const isWrong = (key: string) => wrong.includes(key) || (wrongField?.endsWith(key) ?? false);
  const limit = (key: LimitKey, text: string) => onChange({ limits: { ...wanted.limits, [key]: text } });
  return (
    <div className="space-y-4 pt-2">
      <TextField
        label="Test command"
        name="test_command"
        value={wanted.testCommand}
        onChange={(testCommand) => onChange({ testCommand })}
        placeholder="As the project says"
        hint="How its tests are run. They are really run, after each round."
        isWrong={isWrong("test_command") || isWrong("tests.command")}
      />
      <fieldset>
        <legend className="mb-1 text-sm font-medium">Limits</legend>
        <p className="mb-2 text-xs text-ink-soft">Left empty, they are as the policy says.</p>
        <div className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
          {LIMITS.map(({ key, label, unit, isMoney }) => (
            <NumberLine
              key={key}
              id={`${id}-${key}`}
              label={label}
              unit={unit}
              isMoney={isMoney}
              text={wanted.limits[key] ?? ""}
              onText={(text) => limit(key, text)}
              isWrong={isWrong(key)}
            />
          ))}
          <NumberLine
            id={`${id}-yes`}
            label="Approve a price up to"
            unit="$"
            isMoney
            text={wanted.yesUnder}
            onText={(yesUnder) => onChange({ yesUnder })}
            isWrong={isWrong("yes_under_usd")}
          />
        </div>
      </fieldset>
      <label className="flex items-start gap-2 text-sm">
        <input
          type="checkbox"
          checked={wanted.holdsInterview}
          onChange={(event) => onChange({ holdsInterview: event.target.checked })}
          className="mt-1 size-4 accent-accent"
        />
        <span>
          Ask me first what is not clear
          <span className="block text-xs text-ink-soft">A short interview, before it is specified.</span>
        </span>
      </label>
    </div>
  );
}

type NumberLineProps = {
  id: string;
  label: string;
  unit: string;
  isMoney: boolean;
  text: string;
  onText: (text: string) => void;
  isWrong: boolean;
};

function NumberLine({ id, label, unit, isMoney, text, onText, isWrong }: NumberLineProps) {
  return (
    <div className="min-w-0">
      <label htmlFor={id} className="mb-1 block text-xs text-ink-soft">
        {label}
      </label>
      <NumberField
        id={id}
        text={text}
        onText={onText}
        {...(isMoney ? { unitBefore: unit } : { unit })}
        isWrong={isWrong}
        describedBy={isWrong ? `${id}-wrong` : undefined}
      />
      {isWrong && (
        <p id={`${id}-wrong`} className="mt-1 text-xs text-stop">
          A number is needed here, or nothing.
        </p>
      )}
    </div>
  );
}
