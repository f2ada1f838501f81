import { ArrowUp, FolderGit2, X } from "lucide-react";
import { type RefObject, useEffect } from "react";
import { asProblem } from "@/api/problem";
import { Button } from "@/ui/button";
import { ProblemNotice } from "@/ui/states";
import { boundWords } from "./bound";
import { draftOf, MODEL, useKept } from "./kept";
import { ModelPicker } from "./model-picker";
import { useBound } from "./model-queries";
import { isPlayer } from "./models";
import { NotAskedNotice } from "./not-asked";
import { QuestionField } from "./question-field";
import { StopButton } from "./stop-button";
import type { Asking } from "./use-asking";
import { useSlashFocus } from "./use-slash-focus";
import { useStopping } from "./use-stopping";

type ComposerProps = {
  conversationId: string | null;
  project: string | null;
  /** The last run of the conversation. */
  runId: string | null;
  isUnderWay: boolean;
  asking: Asking;
  /** For this question only; null for as many as the settings say. */
  turns: number | null;
  onTurns: (turns: number | null) => void;
  field: RefObject<HTMLTextAreaElement | null>;
};

export function Composer(props: ComposerProps) {
  const { conversationId, asking, isUnderWay, turns, field } = props;
  const [draft, setDraft] = useKept(draftOf(conversationId));
  const [model, setModel] = useKept(MODEL);
  const stopping = useStopping(props.runId, isUnderWay);
  useSlashFocus(field);
  useFocusAtFirst(field, conversationId);
  const isSending = asking.pending !== null;
  const canSend = draft.trim() !== "" && !isSending && !isUnderWay;
  const send = () => {
    if (canSend) asking.ask({ query: draft.trim(), conversationId, model: model || null, turns });
  };
  return (
    <form
      aria-label="Ask"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {asking.problem && <NotAskedNotice problem={asking.problem} onRetry={send} />}
      {stopping.problem && (
        <ProblemNotice className="mb-2" error={stopping.problem} onRetry={() => stopping.stop(false)} />
      )}
      <div className="rounded-card border border-line-strong bg-panel focus-within:border-accent focus-within:ring-1 focus-within:ring-accent">
        <QuestionField
          ref={field}
          value={isSending ? "" : draft}
          onChange={setDraft}
          onSend={send}
          isBusy={isSending}
        />
        <div className="flex items-center justify-between gap-2 p-2">
          <ModelPicker chosen={model} onChoose={setModel} onClosed={() => field.current?.focus()} />
          {isUnderWay ? (
            <StopButton stopping={stopping.stopping} onStop={stopping.stop} />
          ) : (
            <Button
              look="primary"
              size="icon"
              type="submit"
              disabled={!canSend}
              aria-label={isSending ? "Sending …" : "Send"}
            >
              <ArrowUp aria-hidden className="size-5" />
            </Button>
          )}
        </div>
      </div>
      <BelowField {...props} model={model} />
    </form>
  );
}

/** What it can use at most, what it is about, and which keys there are. */
function BelowField({ model, turns, onTurns, project, isUnderWay }: ComposerProps & { model: string }) {
  const bound = useBound(model || null, turns);
  return (
    <div className="mt-1.5 flex min-h-5 flex-wrap items-center gap-x-3 gap-y-1 px-1 text-xs text-ink-faint">
      <span aria-live="polite" className="min-w-0 break-words tabular-nums">
        {bound.isError ? (
          <span className="line-clamp-2 text-stop" title={problemWords(bound.error)}>
            {problemWords(bound.error)}
          </span>
        ) : bound.data ? (
          boundWords(bound.data)
        ) : (
          "Looking up what it can use at most …"
        )}
      </span>
      {isPlayer(model) && <span>prices made up</span>}
      {turns !== null && (
        <button
          type="button"
          onClick={() => onTurns(null)}
          className="inline-flex items-center gap-1 rounded-full bg-accent-soft px-2 text-accent"
          aria-label={`${turns} turns for this question. Leave it to the settings`}
        >
          {turns} turns for this one <X aria-hidden className="size-3" />
        </button>
      )}
      {project !== null && !isPlayer(model) && (
        <span className="inline-flex min-w-0 items-center gap-1" title={project}>
          <FolderGit2 aria-hidden className="size-3.5 shrink-0" />
          <span className="sr-only">Project: </span>
          <span className="truncate">{project.split(/[\\/]/).filter(Boolean).slice(-2).join("/")}</span>
        </span>
      )}
      <span className="ml-auto max-md:hidden">
        {isUnderWay ? "Esc stops" : "Enter sends, Shift+Enter a new line"}
      </span>
    </div>
  );
}

function problemWords(error: unknown): string {
  const { what, allowed, to_do } = asProblem(error).detail;
  return [what, allowed && `Allowed: ${allowed}`, to_do].filter(Boolean).join(". ");
}

/** Where a keyboard is at hand, one can write at once; on a phone the keys would cover the page. */
function useFocusAtFirst(field: RefObject<HTMLTextAreaElement | null>, conversationId: string | null): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: in each conversation anew
  useEffect(() => {
    if (window.matchMedia("(hover: hover)").matches) field.current?.focus();
  }, [field, conversationId]);
}
