/** One block of Markdown. Loaded on demand: the parser is large. Raw HTML is shown as the text it is. */
import { ImageOff } from "lucide-react";
import { type ComponentProps, memo, useRef } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { CopyButton } from "./copy-button";
import { useHighlighter } from "./highlighter";
import { remarkHtmlAsText } from "./markdown-html";
import { safeUrl } from "./safe-url";

const REMARK = [remarkGfm, remarkHtmlAsText];
const MOST_COLOURED = 100_000;
const HAS_CODE = /(?:`{3}|~{3})\s*\S/;

type Of<Tag extends keyof React.JSX.IntrinsicElements> = ComponentProps<Tag> & { node?: unknown };

/** Headings begin below those of the page. */
const COMPONENTS: Components = {
  h1: ({ node: _, ...rest }: Of<"h1">) => <h3 data-level="1" {...rest} />,
  h2: ({ node: _, ...rest }: Of<"h2">) => <h3 data-level="2" {...rest} />,
  h3: ({ node: _, ...rest }: Of<"h3">) => <h4 data-level="3" {...rest} />,
  h4: ({ node: _, ...rest }: Of<"h4">) => <h5 data-level="4" {...rest} />,
  h5: ({ node: _, ...rest }: Of<"h5">) => <h6 data-level="5" {...rest} />,
  a: Link,
  img: ({ alt }: Of<"img">) => (
    <span className="text-ink-faint">
      <ImageOff aria-hidden className="mr-1 inline size-3.5" />
      {alt || "image"} (not loaded)
    </span>
  ),
  input: ({ checked }: Of<"input">) => (
    <input
      type="checkbox"
      checked={checked === true}
      readOnly
      disabled
      aria-label={checked ? "done" : "to do"}
    />
  ),
  pre: CodeBlock,
  table: ({ node: _, ...rest }: Of<"table">) => (
    // Can be reached by the keyboard, as it may have to be scrolled sideways.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section className="overflow-x-auto" aria-label="Table" tabIndex={0}>
      <table {...rest} />
    </section>
  ),
};

type MarkdownBlockProps = { text: string; name: number; isColoured: boolean };

export default memo(function MarkdownBlock({ text, name, isColoured }: MarkdownBlockProps) {
  const plugins = useHighlighter(isColoured && text.length < MOST_COLOURED && HAS_CODE.test(text));
  return (
    <ReactMarkdown
      remarkPlugins={REMARK}
      rehypePlugins={plugins}
      remarkRehypeOptions={{ clobberPrefix: `block-${name}-` }}
      components={COMPONENTS}
      urlTransform={safeUrl}
    >
      {text}
    </ReactMarkdown>
  );
});

function Link({ href, children }: Of<"a">) {
  if (!href) return <span>{children}</span>;
  const isElsewhere = /^https?:/i.test(href);
  return (
    <a href={href} rel="noreferrer noopener" {...(isElsewhere ? { target: "_blank" } : {})}>
      {children}
    </a>
  );
}

function CodeBlock({ children }: Of<"pre">) {
  const code = useRef<HTMLPreElement>(null);
  return (
    <div className="code-block group relative">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, and the keyboard must reach it */}
      <pre ref={code} tabIndex={0}>
        {children}
      </pre>
      <CopyButton
        label="Copy code"
        isIconOnly
        text={() => code.current?.textContent ?? ""}
        className="absolute top-1.5 right-1.5 border border-line bg-panel opacity-0 group-hover:opacity-100 focus-visible:opacity-100 pointer-coarse:opacity-100"
      />
    </div>
  );
}
