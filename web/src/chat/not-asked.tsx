import { useEffect, useState } from "react";
import { ProblemNotice } from "@/ui/states";
import type { NotAsked } from "./asking";

/** Why a question was not taken; and a way to send it again, once that makes sense. */
export function NotAskedNotice({ problem, onRetry }: { problem: NotAsked; onRetry: () => void }) {
  const waitS = useWaitS(problem.notBefore);
  return (
    <div className="mb-2">
      <ProblemNotice error={problem} onRetry={waitS === 0 ? onRetry : undefined} />
      {waitS > 0 && (
        <p role="timer" className="mt-1 text-xs text-ink-faint">
          Your question is kept. It can be sent again in {waitS} s.
        </p>
      )}
    </div>
  );
}

function useWaitS(notBefore: number | null): number {
  const left = () => Math.max(0, Math.ceil(((notBefore ?? 0) - Date.now()) / 1_000));
  const [waitS, setWaitS] = useState(left);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is left depends on the clock and on this
  useEffect(() => {
    setWaitS(left());
    if (notBefore === null) return;
    const timer = window.setInterval(() => {
      setWaitS(left());
      if (left() === 0) window.clearInterval(timer);
    }, 500);
    return () => window.clearInterval(timer);
  }, [notBefore]);
  return waitS;
}
