import {
  Check,
  Circle,
  CircleDashed,
  CircleSlash,
  type LucideIcon,
  Minus,
  TriangleAlert,
} from "lucide-react";
import { cx } from "@/ui/cx";
import { type Sign, type Standing, wordForNothing } from "./standings";

const ICONS: Record<Sign, LucideIcon> = {
  running: Circle,
  success: Check,
  failure: Minus,
  trouble: TriangleAlert,
  halted: CircleSlash,
  none: CircleDashed,
};
const COLOURS: Record<Sign, string> = {
  running: "text-accent",
  success: "text-good",
  failure: "text-ink-faint",
  trouble: "text-stop",
  halted: "text-notice",
  none: "text-ink-faint opacity-60",
};

/** How a node stands, as a sign: it reads without colour, and its word stands beside it or is read out. */
export function StandingIcon({ standing }: { standing: Standing }) {
  const Icon = ICONS[standing.sign];
  return (
    <span title={standing.word} className="flex shrink-0">
      <Icon
        aria-hidden
        className={cx(
          "size-3.5",
          COLOURS[standing.sign],
          standing.isNow && "animate-pulse fill-current motion-reduce:animate-none",
        )}
      />
      <span className="sr-only">{standing.word}</span>
    </span>
  );
}

const LEGEND: readonly Standing[] = [
  { sign: "running", word: "running now", isNow: true },
  { sign: "running", word: "goes on", isNow: false },
  { sign: "success", word: "succeeded, or yes", isNow: false },
  { sign: "failure", word: "no: the tree goes another way", isNow: false },
  { sign: "trouble", word: "work that failed", isNow: false },
  { sign: "halted", word: "halted", isNow: false },
];

export function Legend({ isTurnOpen }: { isTurnOpen: boolean }) {
  const nothing: Standing = { sign: "none", word: wordForNothing(isTurnOpen), isNow: false };
  return (
    <ul aria-label="What the signs mean" className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-ink-soft">
      {[...LEGEND, nothing].map((standing) => (
        <li key={standing.word} className="flex items-center gap-1.5">
          <span aria-hidden>
            <StandingIcon standing={standing} />
          </span>
          {standing.word}
        </li>
      ))}
    </ul>
  );
}
