/** What the system says in the flow: read, not pressed. */
import { CircleAlert, TriangleAlert } from "lucide-react";
import type { Amounts, SystemMessage } from "@/stream/chunks";
import { addedWords, readingOf } from "./reading";

export function SystemNote({ message }: { message: SystemMessage }) {
  return (
    <div
      role="note"
      className="flex items-start gap-2.5 rounded-control border border-notice-line bg-notice-soft px-3 py-2 text-sm"
    >
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-notice" />
      <div className="flex min-w-0 flex-1 flex-col gap-x-3 sm:flex-row sm:justify-between">
        <p className="min-w-0 break-words">{message.system_message}</p>
        <span className="shrink-0 text-xs leading-5 font-medium text-notice tabular-nums">
          {readingOf(message.metadata)}
        </span>
      </div>
    </div>
  );
}

export function GrantNote({ added, by, why }: { added: Amounts; by: string; why: string }) {
  return (
    <p className="flex items-center gap-3 text-xs text-ink-faint before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
      <span className="min-w-0 text-center break-words">
        {by} added {addedWords(added)}
        {why && `: ${why}`}
      </span>
    </p>
  );
}

export function ErrorNote({ code, message }: { code: string; message: string }) {
  return (
    <div className="flex items-start gap-2.5 rounded-control border border-stop/40 bg-stop-soft px-3 py-2 text-sm">
      <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-stop" />
      <p className="min-w-0 break-words">
        {message} <span className="font-mono text-xs text-ink-faint">{code}</span>
      </p>
    </div>
  );
}
