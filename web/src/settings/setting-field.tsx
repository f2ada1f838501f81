import { Check, LoaderCircle } from "lucide-react";
import { useId, useState } from "react";
import { asProblem } from "@/api/problem";
import { Button } from "@/ui/button";
import { NumberField } from "@/ui/number-field";
import { Slider } from "@/ui/slider";
import { type Bound, boundWords, type Field, isSame, type Settings, scaleOf, textOf } from "./fields";
import type { FieldState } from "./saver";
import type { Typed } from "./settings-queries";

type SettingFieldProps = {
  field: Field;
  bound: Bound;
  value: Settings[keyof Settings];
  state: FieldState<Typed> | undefined;
  onChange: (typed: Typed) => void;
  onRetry: () => void;
};

/** One dollar: where somebody begins who wants a limit and has none. */
const FIRST_COST = "1.00";

/** One setting as slider and number, with what became of the last change beside it. */
export function SettingField({ field, bound, value, state, onChange, onRetry }: SettingFieldProps) {
  const id = useId();
  // While one types, what was typed stays, though the server writes the same number another way ("1." is "1").
  const [typed, setTyped] = useState<string | null>(null);
  const known = shownText(value, state);
  const text = typed !== null && state?.state !== "failed" && isSame(field, typed, known) ? typed : known;
  const isOff = text === null;
  const isWrong = state?.state === "failed";
  const scale = scaleOf(field, bound);
  const number = Number(text ?? "");
  const isNumber = !isOff && text.trim() !== "" && Number.isFinite(number);
  const type = (next: string) => {
    setTyped(next);
    onChange(next);
  };
  return (
    <div className="grid gap-x-6 gap-y-1 border-line py-4 not-last:border-b last:pb-1 md:grid-cols-[minmax(0,1fr)_minmax(0,1.2fr)]">
      <div>
        <div className="flex items-baseline gap-3">
          <label htmlFor={id} className="font-medium">
            {field.title}
          </label>
          <SaveWord state={state} />
        </div>
        <p id={`${id}-means`} className="text-sm text-ink-soft">
          {field.means}
        </p>
      </div>
      <div className="min-w-0">
        <div className="flex items-center gap-4">
          <Slider
            label={`${field.title}, slider`}
            position={isOff ? scale.steps : scale.positionOf(isNumber ? number : Number(value))}
            steps={scale.steps}
            words={isNumber ? field.words(number) : isOff ? "no limit" : "not a number"}
            isDisabled={isOff}
            onMove={(position) => onChange(textOf(field, scale.valueAt(position)))}
          />
          <NumberField
            id={id}
            text={text ?? ""}
            onText={type}
            onLeave={() => setTyped(null)}
            unit={field.unit}
            {...(field.isMoney ? { unitBefore: "$" } : {})}
            placeholder={isOff ? "no limit" : ""}
            isWrong={isWrong}
            isDisabled={isOff}
            describedBy={`${id}-means ${id}-bounds${isWrong ? ` ${id}-wrong` : ""}`}
            className="w-34 shrink-0"
          />
        </div>
        <div className="flex flex-wrap items-center justify-between gap-x-4 text-xs text-ink-faint">
          <p id={`${id}-bounds`}>
            {field.isRetold && isNumber && <span className="text-ink-soft">{field.words(number)} · </span>}
            {boundWords(field, bound)}
          </p>
          {field.isMoney && (
            <label className="flex items-center gap-1.5 py-1 text-sm text-ink">
              <input
                type="checkbox"
                checked={isOff}
                onChange={(event) => onChange(event.target.checked ? null : FIRST_COST)}
                className="size-4 accent-accent"
              />
              No limit
            </label>
          )}
        </div>
        {isWrong && <Wrong id={`${id}-wrong`} error={state.problem} onRetry={onRetry} />}
      </div>
    </div>
  );
}

/** What was typed while the server does not have it, or else what the server has. */
function shownText(value: Settings[keyof Settings], state: FieldState<Typed> | undefined): Typed {
  if (state !== undefined && state.state !== "saved") return state.draft;
  return value === null ? null : String(value);
}

function SaveWord({ state }: { state: FieldState<Typed> | undefined }) {
  return (
    <span aria-live="polite" className="flex items-center gap-1 text-xs">
      {state?.state === "saved" && (
        <span className="flex items-center gap-1 text-good">
          <Check aria-hidden className="size-3.5" />
          Saved
        </span>
      )}
      {state?.state === "saving" && (
        <span className="flex items-center gap-1 text-ink-faint">
          <LoaderCircle aria-hidden className="size-3.5 animate-spin" />
          Saving …
        </span>
      )}
      {state?.state === "failed" && <span className="text-stop">Not saved</span>}
    </span>
  );
}

function Wrong({ id, error, onRetry }: { id: string; error: unknown; onRetry: () => void }) {
  const { detail } = asProblem(error);
  return (
    <div id={id} role="alert" className="mt-1 flex items-start justify-between gap-3 text-sm">
      <div className="min-w-0 break-words">
        <p className="text-stop">{detail.what}</p>
        {detail.allowed && <p className="text-ink-soft">Allowed: {detail.allowed}</p>}
        {detail.to_do && <p className="text-ink-soft">{detail.to_do}</p>}
      </div>
      <Button size="small" onClick={onRetry}>
        Try again
      </Button>
    </div>
  );
}
