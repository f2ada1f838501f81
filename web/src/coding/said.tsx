import { saidParts } from "./coding-words";

/** A sentence of the server's, with the commands in it set as such. */
export function Said({ text }: { text: string }) {
  return saidParts(text).map((part, index) =>
    part.isCode ? (
      <code key={index} className="font-mono text-[0.85em] break-all">
        {part.text}
      </code>
    ) : (
      part.text
    ),
  );
}
