import { ArrowDown } from "lucide-react";
import type { ReactNode } from "react";
import { Exchange } from "@/chat/exchange/exchange";
import { Button } from "@/ui/button";
import { plural } from "@/words/format";
import type { ConversationDetail } from "./conversation-queries";
import { PendingQuestion } from "./pending-question";
import { useStickToEnd } from "./use-stick-to-end";

type ThreadProps = {
  conversation: ConversationDetail | undefined;
  pending: string | null;
  onBranch: (runId: string) => void;
  onAskAgain: (question: string) => void;
  onGoOn: () => void;
  /** What is shown while there is nothing to show. */
  children?: ReactNode;
};

/** What was asked and answered, following its end while one is there. */
export function Thread({ conversation, pending, onBranch, onAskAgain, onGoOn, children }: ThreadProps) {
  const { box, content, isFollowing, toEnd, onScroll } = useStickToEnd(
    conversation === undefined && pending === null ? null : `${conversation?.id ?? ""} ${pending ?? ""}`,
  );
  const exchanges = conversation?.exchanges ?? [];
  const hidden = (conversation?.run_ids.length ?? 0) - exchanges.length;
  return (
    <div className="relative min-h-0 flex-1">
      <div ref={box} onScroll={onScroll} className="relative h-full overflow-y-auto">
        <div ref={content} className="mx-auto max-w-3xl px-4 py-4">
          {children}
          {hidden > 0 && (
            <p className="pb-3 text-center text-xs text-ink-faint">
              {plural(hidden, "earlier question")} can be found under Runs.
            </p>
          )}
          {exchanges.map((exchange, index) => {
            const isLast = index === exchanges.length - 1;
            return (
              <Exchange
                key={exchange.run_id}
                exchange={exchange}
                isLast={isLast}
                onBranch={onBranch}
                onAskAgain={onAskAgain}
                onGoOn={isLast && pending === null ? onGoOn : undefined}
              />
            );
          })}
          {pending !== null && <PendingQuestion question={pending} />}
        </div>
      </div>
      {!isFollowing && (
        <Button
          size="small"
          className="absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full shadow-raised"
          onClick={toEnd}
        >
          <ArrowDown aria-hidden className="size-3.5" />
          Jump to the latest
        </Button>
      )}
    </div>
  );
}
