/** How a slider's steps become values, and back. Pure. */

export type Scale = {
  steps: number;
  positionOf: (value: number) => number;
  valueAt: (position: number) => number;
};

/** One step is one more: for small ranges. Large ones are cut into at most 200 steps, of a round size. */
export function evenScale(smallest: number, largest: number): Scale {
  const size = roundUp((largest - smallest) / 200);
  const steps = Math.ceil((largest - smallest) / size);
  return {
    steps,
    positionOf: (value) => Math.round((value - smallest) / size),
    valueAt: (position) => {
      if (position <= 0) return smallest;
      if (position >= steps) return largest;
      // Round values, though the smallest may be none: 10, 20, 40 … and not 10, 30, 50.
      return clamped(Math.floor((smallest + position * size) / size) * size, smallest, largest);
    },
  };
}

/** Each step is as many times more: for what matters at 1,000 and at 2,000,000. Values have two digits. */
export function growingScale(smallest: number, largest: number, steps = 120): Scale {
  const span = Math.log(largest / smallest);
  return {
    steps,
    positionOf: (value) =>
      Math.round((Math.log(clamped(value, smallest, largest) / smallest) / span) * steps),
    valueAt: (position) => {
      if (position <= 0) return smallest;
      if (position >= steps) return largest;
      return clamped(twoDigits(smallest * Math.exp((position / steps) * span)), smallest, largest);
    },
  };
}

/** 1, 2, 5, 10, 20, 50 …: the first that is large enough. */
function roundUp(least: number): number {
  if (least <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((digit) => digit * power >= least) ?? 10) * power;
}

function twoDigits(value: number): number {
  return Number(value.toPrecision(2));
}

function clamped(value: number, smallest: number, largest: number): number {
  return Math.min(largest, Math.max(smallest, value));
}
