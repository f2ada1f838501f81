import type { RunState } from "@/stream/run-state";
import { type Figures, type MeterView, metersOf } from "./meters";
import { useNowS } from "./use-now";

export function useMeters(state: RunState, figures: Figures | undefined, isUnderWay: boolean): MeterView[] {
  return metersOf(state, figures, useNowS(isUnderWay));
}
