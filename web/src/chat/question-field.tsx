import { type KeyboardEvent, type Ref, useImperativeHandle, useLayoutEffect, useRef } from "react";

type QuestionFieldProps = {
  value: string;
  onChange: (value: string) => void;
  onSend: () => void;
  isBusy: boolean;
  ref?: Ref<HTMLTextAreaElement>;
};

/** A field that grows with what is written. Enter sends, Shift+Enter begins a new line. */
export function QuestionField({ value, onChange, onSend, isBusy, ref }: QuestionFieldProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  useImperativeHandle<HTMLTextAreaElement | null, HTMLTextAreaElement | null>(ref, () => field.current);
  // biome-ignore lint/correctness/useExhaustiveDependencies: its height depends on what is written
  useLayoutEffect(() => {
    const element = field.current;
    if (element === null) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [value]);
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter that ends the writing of a character (in Chinese, say) sends nothing.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (!event.repeat) onSend();
  };
  return (
    <textarea
      ref={field}
      rows={1}
      value={value}
      readOnly={isBusy}
      aria-busy={isBusy}
      aria-label="Your question"
      placeholder="Ask about the project"
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={onKeyDown}
      className="block max-h-48 w-full resize-none overflow-y-auto bg-transparent px-3.5 pt-3 pb-1 outline-none placeholder:text-ink-faint"
    />
  );
}
