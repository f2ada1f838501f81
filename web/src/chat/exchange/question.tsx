/** What was asked. The same look as a question that is on its way. */
export function Question({ text }: { text: string }) {
  return (
    <div className="ml-auto w-fit max-w-[85%] rounded-card bg-accent-soft px-3.5 py-2 break-words whitespace-pre-wrap">
      <h2 className="sr-only">Question</h2>
      {text}
    </div>
  );
}
