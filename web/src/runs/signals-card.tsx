import { useState } from "react";
import { Button } from "@/ui/button";
import { Card } from "@/ui/card";
import { capital, count, UNKNOWN } from "@/words/format";
import type { Signal } from "./run-shapes";

const FEW = 20;

/** How the agent said it stands, turn by turn. */
export function SignalsCard({ signals }: { signals: readonly Signal[] }) {
  const [isAll, setAll] = useState(false);
  const shown = isAll ? signals : signals.slice(-FEW);
  return (
    <Card title={signals.length === 0 ? "Signals" : `Signals (${count(signals.length)})`}>
      {signals.length === 0 && (
        <p className="text-sm text-ink-soft">Its agent gave none: it said nothing about how it stands.</p>
      )}
      <ol className="space-y-2">
        {shown.map((signal, at) => (
          <li key={at} className="text-sm">
            <span className="font-medium">{capital(signal.signal_type.replaceAll("_", " "))}</span>{" "}
            <span className="text-xs text-ink-soft">
              turn {count(signal.turn + 1)}, confidence {confidence(signal.confidence)}
            </span>
            {signal.reason && <p className="break-words text-ink-soft">{signal.reason}</p>}
          </li>
        ))}
      </ol>
      {shown.length < signals.length && (
        <Button size="small" className="mt-3" onClick={() => setAll(true)}>
          Show all {count(signals.length)}
        </Button>
      )}
    </Card>
  );
}

function confidence(value: number | null): string {
  return value === null ? UNKNOWN : `${Math.round(value * 100)} %`;
}
