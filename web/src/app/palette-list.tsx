import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { ListTree, type LucideIcon, MessageSquare, Monitor, Moon, SquarePen, Sun, Timer } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useNavigate } from "react-router";
import { api, given } from "@/api/client";
import { useConversations } from "@/chat/conversation-queries";
import { useTrees } from "@/trees/tree-queries";
import { matched } from "@/ui/match";
import { useSettled } from "@/ui/use-settled";
import { standingOf } from "@/words/endings";
import { ago } from "@/words/format";
import { PLACES } from "./navigation";
import { chooseTheme } from "./theme";

const PAUSE_MS = 200;
const MOST_RUNS = 8;

const THEMES = [
  { theme: "light", name: "Light colours", Icon: Sun },
  { theme: "dark", name: "Dark colours", Icon: Moon },
  { theme: "system", name: "Colours as the machine has them", Icon: Monitor },
] as const;

export default function PaletteList({ onDone }: { onDone: () => void }) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState("");
  const text = useSettled(typed.trim(), PAUSE_MS);
  const conversations = useConversations();
  const trees = useTrees();
  const runs = useRunsWith(text);
  const go = (to: string) => {
    onDone();
    void navigate(to);
  };
  const found = typed.trim() === "" ? [] : (runs.data ?? []);
  return (
    <Command label="Go to" filter={matched} loop className="text-sm">
      <Command.Input
        autoFocus
        value={typed}
        onValueChange={setTyped}
        placeholder="A view, a conversation, a run, a tree"
        className="mb-1 h-10 w-full rounded-control border border-line-strong bg-panel px-3 placeholder:text-ink-faint"
      />
      {/* Beside the list and not in it: a list has entries only. */}
      <Command.Empty className="p-3 text-ink-soft">
        {runs.isFetching ? "Looking …" : "Nothing by that name."}
      </Command.Empty>
      <Command.List className="max-h-[50vh] overflow-y-auto">
        <Group heading="Views">
          <Row value="new chat" Icon={SquarePen} name="New chat" onSelect={() => go("/")} />
          {PLACES.map(({ to, name, about, Icon }) => (
            <Row
              key={to}
              value={`view ${name}`}
              Icon={Icon}
              name={name}
              aside={about}
              onSelect={() => go(to)}
            />
          ))}
        </Group>
        <Group heading="Conversations">
          {(conversations.data ?? []).map(({ id, title, created_at }) => (
            <Row
              key={id}
              value={`conversation ${id}`}
              Icon={MessageSquare}
              name={title}
              aside={ago(created_at)}
              onSelect={() => go(`/c/${encodeURIComponent(id)}`)}
            />
          ))}
        </Group>
        {found.length > 0 && (
          <Group heading="Runs">
            {found.map((run) => (
              <Row
                key={run.run_id}
                value={`run ${run.run_id}`}
                // The server has found it by these words: it is not to be left out here.
                words={typed}
                Icon={Timer}
                name={run.question}
                aside={standingOf(run).word}
                onSelect={() => go(`/runs/${encodeURIComponent(run.run_id)}`)}
              />
            ))}
          </Group>
        )}
        <Group heading="Trees">
          {(trees.data ?? []).map(({ name, doc }) => (
            <Row
              key={name}
              value={`tree ${name}`}
              Icon={ListTree}
              name={name}
              aside={doc}
              onSelect={() => go(`/trees/${encodeURIComponent(name)}`)}
            />
          ))}
        </Group>
        <Group heading="Colours">
          {THEMES.map(({ theme, name, Icon }) => (
            <Row
              key={theme}
              value={`theme ${name}`}
              Icon={Icon}
              name={name}
              onSelect={() => {
                chooseTheme(theme);
                onDone();
              }}
            />
          ))}
        </Group>
      </Command.List>
    </Command>
  );
}

function Group({ heading, children }: { heading: string; children: ReactNode }) {
  if (Array.isArray(children) && children.length === 0) return null;
  return (
    <Command.Group
      heading={
        <span className="block px-2.5 pt-2.5 pb-1 text-xs font-semibold text-ink-faint">{heading}</span>
      }
    >
      {children}
    </Command.Group>
  );
}

type RowProps = {
  value: string;
  words?: string;
  Icon: LucideIcon;
  name: string;
  aside?: string;
  onSelect: () => void;
};

function Row({ value, words, Icon, name, aside, onSelect }: RowProps) {
  return (
    <Command.Item
      value={value}
      keywords={words === undefined ? [name] : [name, words]}
      onSelect={onSelect}
      className="flex cursor-default items-center gap-2.5 rounded-control px-2.5 py-1.5 data-[selected=true]:bg-accent-soft"
    >
      <Icon aria-hidden className="size-4 shrink-0 text-ink-faint" />
      <span className="min-w-0 flex-1 truncate">{name || "Without a title"}</span>
      {aside && <span className="max-w-[45%] shrink-0 truncate text-xs text-ink-faint">{aside}</span>}
    </Command.Item>
  );
}

function useRunsWith(text: string) {
  return useQuery({
    queryKey: ["runs", "found", text],
    queryFn: async ({ signal }) =>
      (await given(api.GET("/api/runs", { params: { query: { text, limit: MOST_RUNS } }, signal }))).runs,
    enabled: text.length > 1,
    placeholderData: keepPreviousData,
  });
}
