import { useEffect, useState } from "react";

const EVERY_MS = 500;

/** Seconds since 1970, renewed twice a second while a clock runs. */
export function useNowS(isTicking: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isTicking) return;
    setNow(Date.now());
    const timer = window.setInterval(() => setNow(Date.now()), EVERY_MS);
    return () => window.clearInterval(timer);
  }, [isTicking]);
  return now / 1_000;
}
