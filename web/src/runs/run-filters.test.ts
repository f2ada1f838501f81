import { describe, expect, it } from "vitest";
import { changed, filtersOf, isNarrowed, paramsOf, type RunFilters } from "./run-filters";

const NONE: RunFilters = { phase: null, ended: null, agent: null, text: "" };
const read = (query: string) => filtersOf(new URLSearchParams(query));

describe("filters in the address", () => {
  it("come back as they were put in", () => {
    const filters: RunFilters = {
      phase: "ENDED",
      ended: "forced",
      agent: "playground:runaway",
      text: "a & b = ü",
    };
    expect(read(paramsOf(filters).toString())).toEqual(filters);
  });

  it("leave nothing in the address when nothing narrows", () => {
    expect(paramsOf(NONE).toString()).toBe("");
    expect(read("")).toEqual(NONE);
  });

  it("leave out what nobody can mean", () => {
    expect(read("phase=SLEEPING&ended=exploded&agent=")).toEqual(NONE);
    expect(read("phase=RUNNING&ended=failed")).toEqual({ ...NONE, phase: "RUNNING" });
  });

  it("cut what the server would refuse as too long", () => {
    expect(read(`text=${"x".repeat(2_000)}`).text).toHaveLength(1_000);
  });
});

describe("changing a filter", () => {
  it("lets the newer of two that exclude each other win", () => {
    expect(changed({ ...NONE, phase: "RUNNING" }, { ended: "failed" })).toEqual({ ...NONE, ended: "failed" });
    expect(changed({ ...NONE, ended: "failed" }, { phase: "RUNNING" })).toEqual({
      ...NONE,
      phase: "RUNNING",
    });
  });

  it("keeps those that go together", () => {
    const both = { ...NONE, phase: "ENDED", ended: "failed" } as const;
    expect(changed({ ...NONE, phase: "ENDED" }, { ended: "failed" })).toEqual(both);
    expect(changed({ ...NONE, ended: "failed" }, { phase: "ENDED" })).toEqual(both);
    expect(changed(both, { agent: "oracle" })).toEqual({ ...both, agent: "oracle" });
  });

  it("knows whether anything narrows; spaces do not", () => {
    expect(isNarrowed(NONE)).toBe(false);
    expect(isNarrowed({ ...NONE, text: "  " })).toBe(false);
    expect(isNarrowed({ ...NONE, agent: "oracle" })).toBe(true);
  });
});
