import { Bot } from "lucide-react";
import { memo, useMemo } from "react";
import type { RunState } from "@/stream/run-state";
import { Markdown } from "@/ui/markdown";
import { type Item, type Section, scopeOf, sectionsOf } from "./flow";
import { ErrorNote, GrantNote, SystemNote } from "./notes";
import { Thinking } from "./thinking";
import { ToolCalls } from "./tool-calls";

/** Everything a run said and did, in order. */
export function Work({ state, isRunning }: { state: RunState; isRunning: boolean }) {
  const sections = useMemo(() => sectionsOf(state.parts), [state.parts]);
  // Why it failed is said once, with what can be done about it.
  const hasFailed = state.ending?.outcome === "failed";
  return sections.map((section, at) => (
    <WorkSection
      // By index: sections are only added at the end
      key={at}
      section={section}
      isRunning={isRunning}
      isLast={at === sections.length - 1}
      hidesErrors={hasFailed}
    />
  ));
}

type WorkSectionProps = { section: Section; isRunning: boolean; isLast: boolean; hidesErrors: boolean };

function WorkSection({ section, isRunning, isLast, hidesErrors }: WorkSectionProps) {
  const { name, depth } = scopeOf(section.scope);
  const items = section.items
    .filter((item) => !(hidesErrors && item.kind === "error"))
    .map((item, at) => (
      // By index: items are only added at the end
      <WorkItem
        key={at}
        item={item}
        isRunning={isRunning}
        isLive={isRunning && isLast && at === section.items.length - 1}
      />
    ));
  if (depth === 0) return items;
  return (
    <section
      aria-label={`Sub-agent ${name}`}
      className="space-y-3 border-l-2 border-line pl-3"
      style={{ marginLeft: `${(depth - 1) * 0.75}rem` }}
    >
      <p className="flex items-center gap-1.5 text-xs font-medium text-ink-soft">
        <Bot aria-hidden className="size-3.5 shrink-0" />
        <span className="min-w-0 break-words">{name}</span>
      </p>
      {items}
    </section>
  );
}

type WorkItemProps = { item: Item; isRunning: boolean; isLive: boolean };

/** Items that are finished are not drawn again while the last one streams. */
const WorkItem = memo(
  function WorkItem({ item, isRunning, isLive }: WorkItemProps) {
    switch (item.kind) {
      case "text":
        return <Markdown text={item.text} isStreaming={isLive} />;
      case "thinking":
        return <Thinking text={item.text} isLive={isLive} />;
      case "tools":
        return <ToolCalls uses={item.uses} isRunning={isRunning} />;
      case "system":
        return <SystemNote message={item} />;
      case "grant":
        return <GrantNote added={item.added} by={item.by} why={item.why} />;
      case "error":
        return <ErrorNote code={item.code} message={item.message} />;
    }
  },
  (before, now) =>
    before.isLive === now.isLive && before.isRunning === now.isRunning && isSame(before.item, now.item),
);

/** Calls are put together anew each time: what counts is whether they are the same. */
function isSame(one: Item, other: Item): boolean {
  if (one.kind !== "tools" || other.kind !== "tools") return one === other;
  return one.uses.length === other.uses.length && one.uses.every((use, at) => use === other.uses[at]);
}
