import type { ReactNode } from "react";
import { cx } from "./cx";

/** A part of a view with a heading of its own. */
export function Card(props: {
  title?: ReactNode;
  aside?: ReactNode;
  className?: string;
  children: ReactNode;
}) {
  return (
    <section className={cx("rounded-card border border-line bg-panel p-4", props.className)}>
      {(props.title || props.aside) && (
        <div className="mb-3 flex items-center justify-between gap-3">
          {props.title && <h2 className="text-sm font-semibold">{props.title}</h2>}
          {props.aside}
        </div>
      )}
      {props.children}
    </section>
  );
}
