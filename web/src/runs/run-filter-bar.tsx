import { Search, X } from "lucide-react";
import { useCallback, useEffect, useRef } from "react";
import { Button } from "@/ui/button";
import { type Choice, Select } from "@/ui/select";
import { endingOf, standingOf } from "@/words/endings";
import { ENDED, type Ended, isNarrowed, PHASES, type Phase, type RunFilters } from "./run-filters";
import { useAgents } from "./run-queries";
import { useTyped } from "./use-typed";

type Narrow = (change: Partial<RunFilters>, options?: { replace: boolean }) => void;

const ANY = "any";
const PHASE_CHOICES: Choice<Phase | typeof ANY>[] = [
  { value: ANY, words: "Any" },
  ...PHASES.map((phase) => ({
    value: phase,
    words: phase === "ENDED" ? "Ended" : standingOf({ phase, ending: null, is_left_open: false }).word,
  })),
];
const ENDED_CHOICES: Choice<Ended | typeof ANY>[] = [
  { value: ANY, words: "Any way" },
  ...ENDED.map((ended) => ({ value: ended, words: endingOf(ended).word })),
];

export function RunFilterBar({ filters, onNarrow }: { filters: RunFilters; onNarrow: Narrow }) {
  const agents = useAgents();
  const known =
    filters.agent === null || agents.includes(filters.agent) ? agents : [filters.agent, ...agents];
  // No agent is called "": what is chosen then is all of them.
  const agentChoices = [
    { value: "", words: "Any" },
    ...known.map((agent) => ({ value: agent, words: agent })),
  ];
  return (
    <search className="mb-4 grid grid-cols-2 items-end gap-3 sm:flex sm:flex-wrap">
      <SearchField text={filters.text} onNarrow={onNarrow} />
      <Select
        label="Status"
        value={filters.phase ?? ANY}
        choices={PHASE_CHOICES}
        onChoose={(phase) => onNarrow({ phase: phase === ANY ? null : phase })}
        className="sm:w-40"
      />
      <Select
        label="How it ended"
        value={filters.ended ?? ANY}
        choices={ENDED_CHOICES}
        onChoose={(ended) => onNarrow({ ended: ended === ANY ? null : ended })}
        className="sm:w-44"
      />
      <Select
        label="Agent"
        value={filters.agent ?? ""}
        choices={agentChoices}
        onChoose={(agent) => onNarrow({ agent: agent === "" ? null : agent })}
        className="sm:w-44"
      />
      <Button
        look="ghost"
        disabled={!isNarrowed(filters)}
        onClick={() => onNarrow({ phase: null, ended: null, agent: null, text: "" })}
      >
        <X aria-hidden className="size-4" />
        Clear
      </Button>
    </search>
  );
}

function SearchField({ text, onNarrow }: { text: string; onNarrow: Narrow }) {
  const put = useCallback((typed: string) => onNarrow({ text: typed }, { replace: true }), [onNarrow]);
  const [typed, setTyped] = useTyped(text, put);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const toSearch = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
        return;
      event.preventDefault();
      field.current?.focus();
    };
    window.addEventListener("keydown", toSearch);
    return () => window.removeEventListener("keydown", toSearch);
  }, []);
  return (
    <label className="col-span-2 flex min-w-0 flex-1 flex-col gap-1 text-xs text-ink-soft sm:min-w-56">
      Search the questions
      <span className="flex h-9 items-center gap-2 rounded-control border border-line-strong bg-panel px-2.5 focus-within:outline-2 focus-within:outline-offset-1 focus-within:outline-accent">
        <Search aria-hidden className="size-4 shrink-0 text-ink-faint" />
        <input
          ref={field}
          type="search"
          value={typed}
          maxLength={1_000}
          autoComplete="off"
          aria-keyshortcuts="/"
          placeholder="Words of the question"
          onChange={(event) => setTyped(event.target.value)}
          className="w-full min-w-0 bg-transparent text-sm text-ink outline-none placeholder:text-ink-faint"
        />
      </span>
    </label>
  );
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
