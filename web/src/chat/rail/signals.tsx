import type { Signal } from "@/stream/chunks";

const MOST = 3;
const WORDS: Record<string, string> = {
  need_turn: "Needs another turn",
  context_sufficient: "Knows enough",
  stuck: "Is stuck",
  need_capability: "Lacks a tool",
  partial_answer: "Has part of an answer",
  delegation_recommended: "Would hand it on",
};

/** How the agent last said it stands, newest first. */
export function Signals({ signals }: { signals: readonly Signal[] }) {
  if (signals.length === 0) return null;
  const last = signals.slice(-MOST).reverse();
  return (
    <div>
      <h3 className="mb-1.5 text-xs font-semibold text-ink-soft">What it says of itself</h3>
      <ul className="space-y-2 text-xs">
        {last.map((signal, index) => (
          <li key={`${signals.length - index}`}>
            <p className="flex justify-between gap-2">
              <span className="font-medium">{WORDS[signal.signal_type] ?? signal.signal_type}</span>
              <span className="shrink-0 text-ink-faint tabular-nums">
                turn {signal.turn + 1}
                {signal.confidence !== null && ` · ${Math.round(signal.confidence * 100)} % sure`}
              </span>
            </p>
            {signal.reason && <p className="line-clamp-3 break-words text-ink-soft">{signal.reason}</p>}
          </li>
        ))}
      </ul>
    </div>
  );
}
