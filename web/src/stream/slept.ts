/** Waits; sooner done when the network is back, or when nobody waits for it any more. */
export function slept(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = window.setTimeout(resolve, ms);
    const wake = () => {
      window.clearTimeout(timer);
      resolve();
    };
    signal.addEventListener("abort", wake, { once: true });
    window.addEventListener("online", wake, { once: true, signal });
  });
}
