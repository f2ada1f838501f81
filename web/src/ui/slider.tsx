import { Slider as Radix } from "radix-ui";

type SliderProps = {
  label: string;
  /** Where the thumb stands, and how many steps there are from one end to the other. */
  position: number;
  steps: number;
  /** The value as it is read out: "200k tokens". */
  words: string;
  isDisabled?: boolean;
  onMove: (position: number) => void;
};

/** A slider by steps; what a step is worth is the caller's to know. */
export function Slider({ label, position, steps, words, isDisabled = false, onMove }: SliderProps) {
  return (
    <Radix.Root
      min={0}
      max={steps}
      step={1}
      value={[Math.min(steps, Math.max(0, position))]}
      disabled={isDisabled}
      onValueChange={([moved]) => moved !== undefined && onMove(moved)}
      className="relative flex h-9 w-full touch-none items-center select-none data-[disabled]:opacity-40"
    >
      <Radix.Track className="relative h-1.5 grow overflow-hidden rounded-full bg-line">
        <Radix.Range className="absolute h-full bg-accent" />
      </Radix.Track>
      <Radix.Thumb
        aria-label={label}
        aria-valuetext={words}
        className="block size-5 rounded-full border-2 border-accent bg-panel shadow-raised transition-[scale] hover:scale-110"
      />
    </Radix.Root>
  );
}
