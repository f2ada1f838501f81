/** What a view shows while it has nothing else to show: loading, empty, or gone wrong. */
import { CircleAlert, LoaderCircle } from "lucide-react";
import type { ReactNode } from "react";
import { asProblem } from "@/api/problem";
import { closed } from "@/words/format";
import { Button } from "./button";
import { cx } from "./cx";

export function Loading({ what = "Loading" }: { what?: string }) {
  return (
    <div role="status" className="flex items-center justify-center gap-2 p-8 text-ink-faint">
      <LoaderCircle aria-hidden className="size-4 animate-spin" />
      <span>{what} …</span>
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-2 p-10 text-center">
      <p className="font-medium">{title}</p>
      <div className="text-sm text-ink-soft">{children}</div>
    </div>
  );
}

/** Why something failed, what is allowed, what to do; and a way to try again. */
export function ProblemNotice(props: {
  error: unknown;
  onRetry?: (() => void) | undefined;
  className?: string;
}) {
  const { detail } = asProblem(props.error);
  return (
    <div
      role="alert"
      className={cx(
        "flex items-start gap-2.5 rounded-card border border-stop/40 bg-stop-soft p-3 text-sm",
        props.className,
      )}
    >
      <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-stop" />
      <div className="min-w-0 flex-1 break-words">
        <p className="font-medium text-stop">{closed(detail.what)}</p>
        {detail.allowed && <p className="text-ink-soft">Allowed: {detail.allowed}.</p>}
        {detail.to_do && <p className="text-ink-soft">{closed(detail.to_do)}</p>}
      </div>
      {props.onRetry && (
        <Button size="small" onClick={props.onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}
