import { useRef } from "react";
import { elapsedS, type RunState } from "@/stream/run-state";
import { type Figures, type MeterView, metersOf } from "./meters";
import { useNowS } from "./use-now";

export function useMeters(state: RunState, figures: Figures | undefined, isUnderWay: boolean): MeterView[] {
  const nowS = useNowS(isUnderWay);
  return metersOf(state, figures, nowS, useLastReadingS(state, nowS));
}

/** What a run's clock showed before its end: that stays until the server has counted, and does not fall to 0. */
function useLastReadingS(state: RunState, nowS: number): number {
  const read = useRef({ startedAt: -1, s: 0 });
  const startedAt = state.budget?.at ?? -1;
  if (state.ending === null) read.current = { startedAt, s: elapsedS(state, nowS) };
  return read.current.startedAt === startedAt ? read.current.s : 0;
}
