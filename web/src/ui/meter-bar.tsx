import { cx } from "./cx";

type MeterBarProps = {
  label: string;
  /** What was used and what is allowed, in words: "12 of 30". */
  words: string;
  /** Null if it is unknown, or there is no limit. */
  percent: number | null;
  warnPercent: number | null;
  /** How much at the end is kept for finishing, in percent of the limit. */
  reservePercent: number | null;
};

/** One thin meter: what was used, a tick where the warning comes, the reserve hatched at its end. */
export function MeterBar({ label, words, percent, warnPercent, reservePercent }: MeterBarProps) {
  const shown = percent === null ? 0 : Math.min(100, Math.max(0, percent));
  const tone =
    shown >= 100 ? "bg-stop" : warnPercent !== null && shown >= warnPercent ? "bg-notice-line" : "bg-accent";
  return (
    <div>
      <div className="mb-1 flex items-baseline justify-between gap-2 text-xs">
        <span className="text-ink-soft">{label}</span>
        <span className="text-ink tabular-nums">{words}</span>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a <meter> cannot show a tick and a hatched part */}
      <div
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(shown)}
        aria-valuetext={words}
        className="relative h-1.5 overflow-hidden rounded-full bg-line"
      >
        {reservePercent !== null && reservePercent > 0 && (
          <div
            data-mark="reserve"
            className="hatched absolute inset-y-0 right-0"
            style={{ width: `${reservePercent}%` }}
          />
        )}
        <div
          className={cx("absolute inset-y-0 left-0 rounded-full transition-[width] duration-300", tone)}
          style={{ width: `${shown}%` }}
        />
        {warnPercent !== null && (
          <div
            data-mark="warning"
            className="absolute inset-y-0 w-0.5 bg-ink"
            style={{ left: `${warnPercent}%` }}
          />
        )}
      </div>
    </div>
  );
}
