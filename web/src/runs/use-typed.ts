import { useEffect, useState } from "react";

const PAUSE_MS = 300;

/** What is typed, and put elsewhere (the address) after a short pause. If that changes by itself, as with the
 * back button, it is shown; what was put there by us is not, as more may have been typed since. */
export function useTyped(text: string, put: (text: string) => void): [string, (text: string) => void] {
  const [typed, setTyped] = useState(text);
  const [seen, setSeen] = useState(text);
  const [lastPut, setLastPut] = useState<string | null>(null);
  if (text !== seen) {
    setSeen(text);
    if (text === lastPut) setLastPut(null);
    else setTyped(text);
  }
  useEffect(() => {
    if (typed === text) return;
    const timer = window.setTimeout(() => {
      setLastPut(typed);
      put(typed);
    }, PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [typed, text, put]);
  return [typed, setTyped];
}
