import type { ReactNode } from "react";

/** A view that scrolls, with its title. `relative`: what is hidden from eyes in it must not make the window longer. */
export function Page(props: { title: string; lead?: ReactNode; aside?: ReactNode; children: ReactNode }) {
  return (
    <div className="relative h-full overflow-y-auto">
      <div className="mx-auto max-w-6xl px-4 py-6 sm:px-6">
        <div className="mb-5 flex flex-wrap items-start justify-between gap-3">
          <div className="min-w-0">
            <h1 className="text-xl font-semibold break-words">{props.title}</h1>
            {props.lead && <div className="mt-1 text-sm text-ink-soft">{props.lead}</div>}
          </div>
          {props.aside}
        </div>
        {props.children}
      </div>
    </div>
  );
}
