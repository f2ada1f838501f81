import { describe, expect, it } from "vitest";
import {
  type Blocks,
  blocksOf,
  closed,
  type Group,
  groupsOf,
  NO_BLOCKS,
  withDefinitions,
} from "./markdown-blocks";

const REPLY = `# Limits

They are checked in \`loop\`.
They *wrap*.

1. one

   \`\`\`py
   x = 1

   y = 2
   \`\`\`
2. two

10. ten

\`\`\`\`text

\`\`\`
not the end

\`\`\`\`

| a | b |
|---|---|
| 1 | 2 |

> quoted
> more

    indented

See [it][it].

[it]: https://example.org

* last **bold**
`;

describe("blocksOf", () => {
  it("cuts between blocks, and nowhere else", () => {
    expect(blocksOf(REPLY).texts.map((block) => block.trimEnd().split("\n", 1)[0])).toEqual([
      "# Limits",
      "They are checked in `loop`.",
      "1. one",
      "````text",
      "| a | b |",
      "> quoted",
      "See [it][it].",
      "[it]: https://example.org",
      "* last **bold**",
    ]);
  });

  it("loses nothing, and leaves finished blocks as they are, however the text comes", () => {
    for (let at = 1; at <= REPLY.length; at += 1) {
      const now = blocksOf(REPLY.slice(0, at)).texts;
      expect(now.join("")).toBe(REPLY.slice(0, at));
      const next = blocksOf(REPLY.slice(0, at + 1)).texts;
      expect(next.slice(0, now.length - 1)).toEqual(now.slice(0, -1));
    }
  });

  it("finds the same, whether it reads all or goes on from before", () => {
    let known: Blocks = NO_BLOCKS;
    for (let at = 1; at <= REPLY.length; at += 3) {
      known = blocksOf(REPLY.slice(0, at), known);
      expect(known).toEqual(blocksOf(REPLY.slice(0, at)));
    }
    expect(blocksOf("another", known).texts).toEqual(["another"]); // taken back: begun anew
  });

  it("cuts a very long list between its items", () => {
    const list = Array.from({ length: 400 }, (_, at) => `${at + 1}. an item\n   that goes on\n`).join("");
    const { texts } = blocksOf(list);
    expect(texts.length).toBeGreaterThan(1);
    expect(texts.every((text) => /^\d+\. an item\n/.test(text))).toBe(true);
  });

  it("keeps a fence that is not closed in one piece", () => {
    expect(blocksOf("```py\na\n\nb\n\nc").texts).toHaveLength(1);
  });

  it("reads 200 kB quickly enough for every frame", () => {
    const long = REPLY.repeat(Math.ceil(200_000 / REPLY.length));
    const before = performance.now();
    for (let times = 0; times < 10; times += 1) blocksOf(long);
    expect((performance.now() - before) / 10).toBeLessThan(40);
  });
});

describe("groupsOf", () => {
  it("keeps full groups as they are, whatever comes after them", () => {
    const long = REPLY.repeat(60);
    let blocks: Blocks = NO_BLOCKS;
    let groups: Group[] = [];
    for (let at = 1; at <= long.length; at += 97) {
      blocks = blocksOf(long.slice(0, at), blocks);
      const next = groupsOf(blocks.texts, groups);
      expect(next.flatMap((group) => group.texts)).toEqual(blocks.texts);
      for (const [index, group] of groups.slice(0, -1).entries()) expect(next[index]).toBe(group);
      groups = next;
    }
    expect(groups.length).toBeGreaterThan(2);
  });
});

describe("definitions", () => {
  it("are at hand where they are referred to, and only there", () => {
    const { texts, definitions } = blocksOf(REPLY);
    const whole = texts.map((text) => withDefinitions(text, definitions));
    expect(whole.filter((text, at) => text !== texts[at])).toEqual([
      "See [it][it].\n\n\n\n[it]: https://example.org",
    ]);
  });

  it("within code are code", () => {
    expect(blocksOf("```\n[x]: y\n```\n").definitions).toEqual([]);
  });
});

describe("closed", () => {
  it.each([
    ["some **bo", "some **bo**"],
    ["some **", "some "],
    ["some **bold*", "some **bold**"],
    ["some **bold** text", "some **bold** text"],
    ["call `fo", "call `fo`"],
    ["call `", "call "],
    ["see [the do", "see the do"],
    ["see [the docs](https://exa", "see the docs"],
    ["see [the docs](https://a.b)", "see [the docs](https://a.b)"],
    ["```py\nx = **y", "```py\nx = **y"],
    ["2 * 3", "2 * 3"],
  ])("%j is shown as %j", (text, shown) => {
    expect(closed(text)).toBe(shown);
  });
});
