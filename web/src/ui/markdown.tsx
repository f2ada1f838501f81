/** Text of models and people as Markdown: safe, and smooth while it streams. */
import { lazy, memo, Suspense, useEffect, useMemo, useRef } from "react";
import "@/styles/prose.css";
import {
  type Blocks,
  blocksOf,
  closed,
  type Definition,
  type Group,
  groupsOf,
  NO_BLOCKS,
  withDefinitions,
} from "./markdown-blocks";
import { usePaced } from "./use-paced";

const loadBlock = () => import("./markdown-block");
const MarkdownBlock = lazy(loadBlock);
// The first answer is not to be seen without its form: fetched as soon as the page has nothing else to do.
if (typeof window.requestIdleCallback === "function") window.requestIdleCallback(() => void loadBlock());

type MarkdownProps = { text: string; isStreaming?: boolean };

const MOST_EACH_FRAME = 6_000;
const MOST_COLOURED_LIVE = 12_000;

/** Blocks that are finished are drawn once; only the last one changes while it streams. */
export const Markdown = memo(function Markdown({ text, isStreaming = false }: MarkdownProps) {
  const known = useRef<{ blocks: Blocks; groups: readonly Group[] }>({ blocks: NO_BLOCKS, groups: [] });
  const { blocks, groups } = useMemo(() => {
    const blocks = blocksOf(text, known.current.blocks);
    return { blocks, groups: groupsOf(blocks.texts, known.current.groups) };
  }, [text]);
  useEffect(() => {
    known.current = { blocks, groups };
  });
  return (
    <div className="prose">
      <Suspense fallback={<Plain texts={blocks.texts} />}>
        {groups.map((group, at) => (
          <BlockGroup
            key={group.at}
            group={group}
            definitions={blocks.definitions}
            isLive={isStreaming && at === groups.length - 1}
          />
        ))}
      </Suspense>
    </div>
  );
});

type BlockGroupProps = { group: Group; definitions: readonly Definition[]; isLive: boolean };

const BlockGroup = memo(function BlockGroup({ group, definitions, isLive }: BlockGroupProps) {
  return (
    <div>
      {group.texts.map((block, at) => (
        <Block
          // Blocks are only added at the end: the index is their name.
          key={group.at + at}
          text={withDefinitions(block, definitions)}
          name={group.at + at}
          isLive={isLive && at === group.texts.length - 1}
        />
      ))}
    </div>
  );
});

/** A very long block that is being written is drawn less often, so that the page stays quick. */
const Block = memo(function Block({ text, name, isLive }: { text: string; name: number; isLive: boolean }) {
  const paced = usePaced(text, isLive && text.length > MOST_EACH_FRAME ? 60 + text.length / 200 : 0);
  const isColoured = !isLive || paced.length < MOST_COLOURED_LIVE;
  return <MarkdownBlock text={isLive ? closed(paced) : paced} name={name} isColoured={isColoured} />;
});

/** What is shown until Markdown is there: the same text in the same measure. */
function Plain({ texts }: { texts: readonly string[] }) {
  return (
    <div>
      {texts.map((block, at) => (
        <p key={`${at}`} className="whitespace-pre-wrap">
          {block.trim()}
        </p>
      ))}
    </div>
  );
}
