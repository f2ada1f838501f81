import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { followsAfter, type Scrolled } from "./stick";

/**
 * A box that follows its end while somebody is there, and leaves them in peace while they read above. With
 * nothing to follow (null) it stays at its beginning.
 */
export function useStickToEnd(shown: string | null) {
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const before = useRef<Scrolled>({ top: 0, height: 0, shown: 0 });
  const isWanted = useRef(false);
  const [isFollowing, setFollowing] = useState(true);

  const set = useCallback((next: boolean) => {
    follows.current = next;
    setFollowing(next);
  }, []);

  const settle = useCallback(() => {
    const element = box.current;
    if (element === null) return;
    if (follows.current && isWanted.current) element.scrollTop = element.scrollHeight;
    before.current = scrolledOf(element);
  }, []);

  const toEnd = useCallback(() => {
    set(true);
    settle();
  }, [set, settle]);

  const onScroll = useCallback(() => {
    const element = box.current;
    if (element === null) return;
    const now = scrolledOf(element);
    set(followsAfter(follows.current, before.current, now));
    before.current = now;
  }, [set]);

  // Another conversation begins at its end.
  useLayoutEffect(() => {
    isWanted.current = shown !== null;
    toEnd();
  }, [toEnd, shown]);

  useEffect(() => {
    const sizes = new ResizeObserver(settle);
    if (box.current !== null) sizes.observe(box.current);
    if (content.current !== null) sizes.observe(content.current);
    return () => sizes.disconnect();
  }, [settle]);

  return { box, content, isFollowing: isFollowing || shown === null, toEnd, onScroll };
}

function scrolledOf(element: HTMLElement): Scrolled {
  return { top: element.scrollTop, height: element.scrollHeight, shown: element.clientHeight };
}
