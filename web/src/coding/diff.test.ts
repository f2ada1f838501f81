import { expect, it } from "vitest";
import { filesOf } from "./diff";

const TWO = `diff --git a/src/clock.py b/src/clock.py
index 1111111..2222222 100644
--- a/src/clock.py
+++ b/src/clock.py
@@ -3,3 +3,4 @@ def minutes(text):
     hours, rest = text.split(":")
-    return int(hours)
+    # whole minutes
+    return int(hours) * 60 + int(rest)
 
diff --git a/notes.md b/notes.md
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/notes.md
@@ -0,0 +1 @@
+# Notes
\\ No newline at end of file
`;

it("reads a diff file by file, and counts the lines of each", () => {
  const files = filesOf(TWO);
  expect(files.map(({ name, added, removed }) => [name, added, removed])).toEqual([
    ["src/clock.py", 2, 1],
    ["notes.md", 1, 0],
  ]);
});

it("numbers lines as they stand in the new file, and those that are gone as in the old one", () => {
  const [clock] = filesOf(TWO);
  expect(clock?.lines.map(({ kind, number }) => [kind, number])).toEqual([
    ["place", null],
    ["same", 3],
    ["removed", 4],
    ["added", 4],
    ["added", 5],
    ["same", 6],
  ]);
});

it("says what is known of a new file, and of one without an end of line", () => {
  const notes = filesOf(TWO)[1];
  expect(notes?.lines.map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
    "note: new file mode 100644",
    "place: line 1",
    "added: # Notes",
    "note: No newline at end of file",
  ]);
});

it("does not take the content of a file for a heading", () => {
  const sly = `diff --git a/x b/x
--- a/x
+++ b/x
@@ -1,2 +1,2 @@
--- a/old
-diff --git a/y b/y
+++ b/new
+diff --git a/z b/z
`;
  const files = filesOf(sly);
  expect(files.map(({ name, added, removed }) => [name, added, removed])).toEqual([["x", 2, 2]]);
  expect(files[0]?.lines.map(({ text }) => text)).toEqual([
    "line 1",
    "-- a/old",
    "diff --git a/y b/y",
    "++ b/new",
    "diff --git a/z b/z",
  ]);
});

it.each([
  ["diff --git a/a b.png b/a b.png\nBinary files differ\n", "a b.png"],
  ["diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n", "gone.txt"],
  ['diff --git "a/\\303\\244" "b/\\303\\244"\nBinary files differ\n', "\\303\\244"],
])("names a file of which only the heading tells", (text, name) => {
  expect(filesOf(text).map((file) => file.name)).toEqual([name]);
});

it("shows a diff that was cut as far as it goes", () => {
  const files = filesOf("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n one\n+two\n");
  expect(files[0]?.lines).toHaveLength(3);
  expect(filesOf("")).toEqual([]);
});
