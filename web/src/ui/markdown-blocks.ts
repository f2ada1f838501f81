/** Markdown cut into blocks, so that a long reply that streams is not parsed anew with each word. Pure. */

const LIST_ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;
/** The last line may be the beginning of a list item, of which only the marker has come so far. */
const HALF_ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)]?)$/;
const FENCE = /^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(`{3,}|~{3,})([^`]*)$/;
/** An item of which more than the marker has come: it cannot turn into something else. */
const SURE_ITEM = /^(?:[-*+]|\d{1,9}[.)])\s+\S/;
/** A list longer than this goes on in a new block: else each word would have all of it parsed anew. */
const MOST_LIST_CHARS = 4_000;
/** So much finished text is kept together and not looked at again. */
const GROUP_CHARS = 6_000;
const NEW_LINE = 10;
const DEFINITION = /^ {0,3}\[([^\]\n]+)\]:/;

export type Definition = { label: string; text: string };

export type Blocks = {
  text: string;
  /** Joined, these are the text. When more text comes, all but the last stay as they are. */
  texts: readonly string[];
  /** What links and footnotes anywhere may refer to; those of the last block are found anew each time. */
  definitions: readonly Definition[];
};

export const NO_BLOCKS: Blocks = { text: "", texts: [], definitions: [] };

/** A new block begins after an empty line, unless what follows still belongs to what came before. Where the text
 * goes on from one whose blocks are known, only its last block is read again. */
export function blocksOf(text: string, before: Blocks = NO_BLOCKS): Blocks {
  if (text === before.text) return before;
  const texts = text.startsWith(before.text) ? before.texts.slice(0, -1) : [];
  let begin = texts.reduce((chars, one) => chars + one.length, 0);
  const definitions = new Map<string, Definition>();
  if (texts.length > 0) for (const one of before.definitions) definitions.set(one.text, one);
  let fence: string | null = null;
  let isList = false;
  let isAfterEmpty = false;
  for (let at = begin; at < text.length; ) {
    const end = lineEnd(text, at);
    const line = text.slice(at, end).trimEnd();
    const isWhole = text.charCodeAt(end - 1) === NEW_LINE;
    if (fence !== null) {
      if (closes(line, fence)) fence = null;
      isAfterEmpty = false;
    } else if (line === "") {
      isAfterEmpty = true;
    } else {
      const isNew = isAfterEmpty && !goesOn(line, isList, isWhole);
      const isTooLong = isList && at - begin > MOST_LIST_CHARS && SURE_ITEM.test(line);
      if (at > begin && (isNew || isTooLong)) {
        texts.push(text.slice(begin, at));
        begin = at;
      }
      if (at === begin) isList = LIST_ITEM.test(line);
      isAfterEmpty = false;
      fence = FENCE.exec(line)?.[1] ?? null;
      const label = isWhole ? DEFINITION.exec(line)?.[1] : undefined;
      if (label !== undefined) definitions.set(line, { label, text: line });
    }
    at = end;
  }
  if (begin < text.length) texts.push(text.slice(begin));
  return { text, texts, definitions: sameOr(before.definitions, [...definitions.values()]) };
}

/** The same array as before if nothing was added, so that what was drawn with it is not drawn again. */
function sameOr(before: readonly Definition[], now: readonly Definition[]): readonly Definition[] {
  return before.length === now.length && before.every((one, at) => one.text === now[at]?.text) ? before : now;
}

export type Group = { at: number; texts: readonly string[] };

/** Blocks in groups. A group that is full never changes, and is the same object as before. */
export function groupsOf(texts: readonly string[], before: readonly Group[] = []): Group[] {
  const groups: Group[] = [];
  for (const known of before.slice(0, -1)) {
    if (!known.texts.every((text, at) => text === texts[known.at + at])) break;
    groups.push(known);
  }
  const last = groups.at(-1);
  let at = last === undefined ? 0 : last.at + last.texts.length;
  let chars = 0;
  for (let next = at; next < texts.length; next += 1) {
    chars += texts[next]?.length ?? 0;
    const isFull = chars > GROUP_CHARS && next < texts.length - 1;
    if (!isFull && next < texts.length - 1) continue;
    groups.push({ at, texts: texts.slice(at, next + 1) });
    at = next + 1;
    chars = 0;
  }
  return groups;
}

/** A block with the definitions it refers to, if they stand elsewhere. */
export function withDefinitions(block: string, definitions: readonly Definition[]): string {
  if (definitions.length === 0) return block;
  const needed = definitions.filter((one) => block.includes(`[${one.label}]`) && !block.includes(one.text));
  return needed.length === 0 ? block : `${block}\n\n${needed.map((one) => one.text).join("\n\n")}`;
}

/** The last block while it streams: what is not closed yet is closed, so that no marks flash up. */
export function closed(block: string): string {
  const start = block.lastIndexOf("\n\n") + 1;
  const paragraph = block.slice(start);
  if (isInFence(block)) return block;
  const link = /!?\[([^[\]]*)(?:\]\([^()\s]*)?$/.exec(paragraph);
  const plain = link === null ? block : block.slice(0, start + link.index) + (link[1] ?? "");
  const tail = plain.slice(start);
  if (isOdd(tail.split("`").length - 1))
    return /`\s*$/.test(tail) ? plain.replace(/`+\s*$/, "") : `${plain}\``;
  if (!isOdd(tail.split("**").length - 1)) return plain.replace(/(^|\s)\*{1,2}$/, "$1");
  return /\*\*\s*$/.test(tail) ? plain.replace(/\*\*\s*$/, "") : `${plain.replace(/\*$/, "").trimEnd()}**`;
}

function isInFence(block: string): boolean {
  let fence: string | null = null;
  for (const line of block.split("\n")) {
    if (fence === null) fence = FENCE.exec(line)?.[1] ?? null;
    else if (closes(line, fence)) fence = null;
  }
  return fence !== null;
}

function lineEnd(text: string, at: number): number {
  const found = text.indexOf("\n", at);
  return found === -1 ? text.length : found + 1;
}

function closes(line: string, fence: string): boolean {
  const marks = line.trim();
  return marks.length >= fence.length && marks === fence.charAt(0).repeat(marks.length);
}

function goesOn(line: string, isList: boolean, isWhole: boolean): boolean {
  if (/^\s/.test(line)) return true;
  return isList && (LIST_ITEM.test(line) || (!isWhole && HALF_ITEM.test(line)));
}

function isOdd(value: number): boolean {
  return value % 2 === 1;
}
