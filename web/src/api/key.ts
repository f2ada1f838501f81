/**
 * The page's half of the session. Cookies of 127.0.0.1 go to every port of it, local storage does not: the
 * server lets a browser in only with both.
 */
const PLACE = "endstop.key";
const HEADER = "X-Endstop-Key";

/**
 * After the link of `endstop serve`, the key is in the address once: take it out of there, and keep it if the
 * server knows it. Anybody can make a link with a key that is none; that one must not sign a person out.
 */
export async function takeKeyFromAddress(): Promise<void> {
  const found = /[#&]key=([A-Za-z0-9_-]+)/.exec(window.location.hash)?.[1];
  if (found === undefined) return;
  window.history.replaceState(null, "", window.location.pathname + window.location.search);
  const answer = await fetch("/api/session", { headers: { [HEADER]: found } }).catch(() => null);
  if (answer?.ok || window.localStorage.getItem(PLACE) === null) keepKey(found);
}

export function keepKey(key: string): void {
  window.localStorage.setItem(PLACE, key);
}

export function forgetKey(): void {
  window.localStorage.removeItem(PLACE);
}

/** The headers that every call to the server needs. */
export function keyHeaders(): Record<string, string> {
  const key = window.localStorage.getItem(PLACE);
  return key === null ? {} : { [HEADER]: key };
}
