import type { ReactNode } from "react";

/** Terms and what is known of each; below each other where there is little room. */
export function FactList({ children }: { children: ReactNode }) {
  return <dl className="grid gap-x-4 gap-y-1 text-sm sm:grid-cols-[8.5rem_minmax(0,1fr)]">{children}</dl>;
}

export function FactLine({ term, children }: { term: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-faint">{term}</dt>
      <dd className="min-w-0 break-words max-sm:mb-1">{children}</dd>
    </>
  );
}
