import { Brain } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Fold } from "@/ui/fold";
import { duration, plural } from "@/words/format";

const SHORTEST_S = 0.5;
const STILL_NEW_CHARS = 400;

/** What the model thought, folded. How long is said only if somebody was there to see it. */
export function Thinking({ text, isLive }: { text: string; isLive: boolean }) {
  const tookS = useSeconds(isLive, text.length);
  const words = text.trim().split(/\s+/).length;
  const line = isLive
    ? "Thinking …"
    : tookS === null
      ? `Thought, in ${plural(words, "word")}`
      : `Thought for ${duration(tookS)}`;
  return (
    <Fold
      line={
        <>
          <Brain aria-hidden className="size-3.5 shrink-0" />
          <span>{line}</span>
        </>
      }
    >
      <div className="mt-1 ml-1.5 border-l-2 border-line pl-4 text-sm break-words whitespace-pre-wrap text-ink-soft">
        {text.trim()}
      </div>
    </Fold>
  );
}

/** How long it was live before our eyes; null if we came late, or it is not over. */
function useSeconds(isLive: boolean, chars: number): number | null {
  const beganAt = useRef(isLive && chars < STILL_NEW_CHARS ? performance.now() : null);
  const [tookS, setTookS] = useState<number | null>(null);
  useEffect(() => {
    if (isLive || beganAt.current === null) return;
    const seconds = (performance.now() - beganAt.current) / 1_000;
    beganAt.current = null;
    if (seconds >= SHORTEST_S) setTookS(seconds);
  }, [isLive]);
  return tookS;
}
