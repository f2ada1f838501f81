/** HTML in Markdown is not drawn, it is shown as the text it is. Only a line break means what it says. */

type Node = { type: string; value?: string; children?: Node[] };

const LINE_BREAK = /^<br\s*\/?>$/i;
/** Text may stand within these; everywhere else it needs a paragraph around it. */
const HOLDS_TEXT = new Set([
  "paragraph",
  "heading",
  "tableCell",
  "emphasis",
  "strong",
  "delete",
  "link",
  "linkReference",
]);

export function remarkHtmlAsText(): (tree: Node) => void {
  return plainly;
}

function plainly(parent: Node): void {
  if (parent.children === undefined) return;
  parent.children = parent.children.map((node) => {
    if (node.type !== "html") {
      plainly(node);
      return node;
    }
    if (LINE_BREAK.test(node.value ?? "")) return { type: "break" };
    const text = { type: "text", value: node.value ?? "" };
    return HOLDS_TEXT.has(parent.type) ? text : { type: "paragraph", children: [text] };
  });
}
