/** The words of a line of Lua, by what they are: just enough to colour it. Pure. */

export type LuaWord = { text: string; kind: "plain" | "comment" | "text" | "number" | "keyword" };

const WORDS =
  /(?<comment>--.*)|(?<text>"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|\[\[.*?(?:\]\]|$))|(?<number>\b\d[\w.]*)|(?<keyword>\b(?:and|break|do|else|elseif|end|false|for|function|goto|if|in|local|nil|not|or|repeat|return|then|true|until|while)\b)|(?<name>[A-Za-z_]\w*)/g;

export function luaWords(line: string): LuaWord[] {
  const words: LuaWord[] = [];
  const add = (text: string, kind: LuaWord["kind"]) => {
    const last = words.at(-1);
    if (text === "") return;
    if (last?.kind === kind) last.text += text;
    else words.push({ text, kind });
  };
  let done = 0;
  for (const found of line.matchAll(WORDS)) {
    add(line.slice(done, found.index), "plain");
    add(found[0], kindOf(found.groups ?? {}));
    done = found.index + found[0].length;
  }
  add(line.slice(done), "plain");
  return words;
}

function kindOf(groups: Record<string, string | undefined>): LuaWord["kind"] {
  for (const kind of ["comment", "text", "number", "keyword"] as const) {
    if (groups[kind] !== undefined) return kind;
  }
  return "plain";
}
