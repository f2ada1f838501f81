/** A unified diff, read file by file, so that each can be folded and its lines coloured. Pure. */

export type DiffLine = {
  kind: "same" | "added" | "removed" | "place" | "note";
  text: string;
  /** Where it stands: in the new file, or, for what is gone, in the old one. */
  number: number | null;
};
export type DiffFile = { name: string; added: number; removed: number; lines: DiffLine[] };

type Reading = { file: DiffFile; before: number; after: number; oldLeft: number; newLeft: number };

/** The files of a diff as git writes it. A text that is none is one file without a name. */
export function filesOf(text: string): DiffFile[] {
  const files: DiffFile[] = [];
  let reading: Reading | null = null;
  for (const line of linesOf(text)) {
    const isInside: boolean = reading !== null && (reading.oldLeft > 0 || reading.newLeft > 0);
    if (!isInside && line.startsWith("diff --git ")) {
      reading = begun(nameInHeading(line));
      files.push(reading.file);
      continue;
    }
    if (reading === null) {
      reading = begun("");
      files.push(reading.file);
    }
    take(reading, line, isInside);
  }
  return files;
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function begun(name: string): Reading {
  return { file: { name, added: 0, removed: 0, lines: [] }, before: 0, after: 0, oldLeft: 0, newLeft: 0 };
}

function take(reading: Reading, line: string, isInside: boolean): void {
  if (isInside) takeInside(reading, line);
  else takeBetween(reading, line);
}

/** A line of a hunk: how many there are of each side its heading has said, so nothing is mistaken for a heading. */
function takeInside(reading: Reading, line: string): void {
  const { file } = reading;
  const rest = line.slice(1);
  if (line.startsWith("+")) {
    file.added += 1;
    reading.newLeft -= 1;
    file.lines.push({ kind: "added", text: rest, number: reading.after++ });
  } else if (line.startsWith("-")) {
    file.removed += 1;
    reading.oldLeft -= 1;
    file.lines.push({ kind: "removed", text: rest, number: reading.before++ });
  } else if (line.startsWith("\\")) {
    file.lines.push({ kind: "note", text: rest.trim(), number: null });
  } else {
    reading.oldLeft -= 1;
    reading.newLeft -= 1;
    reading.before += 1;
    file.lines.push({ kind: "same", text: rest, number: reading.after++ });
  }
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/;

function takeBetween(reading: Reading, line: string): void {
  const hunk = HUNK.exec(line);
  if (hunk !== null) {
    const [, before, old, after, fresh, where = ""] = hunk;
    reading.before = Number(before);
    reading.after = Number(after);
    reading.oldLeft = Number(old ?? 1);
    reading.newLeft = Number(fresh ?? 1);
    reading.file.lines.push({ kind: "place", text: where.trim() || `line ${after}`, number: null });
    return;
  }
  const named = /^(?:\+\+\+|---) (.+)$/.exec(line)?.[1];
  if (named !== undefined) {
    if (named !== "/dev/null") reading.file.name = withoutSide(unquoted(named));
    return;
  }
  if (/^(index|similarity|dissimilarity|old mode|new mode) /.test(line) || line === "") return;
  reading.file.lines.push({ kind: "note", text: line.replace(/^\\ /, ""), number: null });
}

/** Of `diff --git a/x b/x`: needed where nothing else names the file, as with binary ones. */
function nameInHeading(line: string): string {
  const both = line.slice("diff --git ".length);
  const middle = Math.floor(both.length / 2);
  const [first, second] = [both.slice(0, middle), both.slice(middle + 1)].map((side) =>
    withoutSide(unquoted(side)),
  );
  return first === second && first !== undefined
    ? first
    : withoutSide(unquoted(both.split(" ").at(-1) ?? both));
}

function withoutSide(name: string): string {
  return name.replace(/^[ab]\//, "");
}

function unquoted(name: string): string {
  const plain = name.replace(/\t$/, "");
  return plain.startsWith('"') && plain.endsWith('"') ? plain.slice(1, -1) : plain;
}
