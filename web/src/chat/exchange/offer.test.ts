import { describe, expect, it } from "vitest";
import type { Amounts, Chunk, SystemType } from "@/stream/chunks";
import { NOTHING_YET, told } from "@/stream/run-state";
import { offerOf } from "./offer";

const system = (system_type: SystemType, limit_type: string): Chunk => ({
  type: "system",
  system_type,
  system_message: "",
  metadata: { current_value: 1, limit_value: 1, percent: 100, limit_type },
});
const budget = (limits: Amounts): Chunk => ({
  type: "budget",
  limits,
  warn_percent: {},
  reserve_percent: 5,
  model: "",
  at: 0,
});
const offered = (...chunks: Chunk[]) => offerOf(chunks.reduce(told, NOTHING_YET));

describe("offerOf", () => {
  it.each([
    ["turns", "Continue with 10 more turns", { turns: 10 }],
    ["tokens", "Continue with 50k more tokens", { tokens: 50_000 }],
    ["seconds", "Continue with 5 more minutes", { seconds: 300 }],
    ["cost_usd", "Continue with $0.50 more", { cost_usd: "0.5" }],
    ["model_calls", "Continue with 10 more model calls", { model_calls: 10 }],
    ["context_tokens", "Continue with 10 more turns", { turns: 10 }],
    ["constructor", "Continue with 10 more turns", { turns: 10 }],
  ])("offers more of what ran out: %s", (kind, label, grant) => {
    const offer = offered(system("limit_reached", kind));
    expect(offer.label).toBe(label);
    const nothing = { turns: 0, tokens: 0, cost_usd: "0", seconds: 0, model_calls: 0 };
    expect(offer.grant).toEqual({ ...nothing, ...grant, why: "continued in the chat" });
  });

  it("offers turns when it was no limit that stopped it, whatever was reached before", () => {
    expect(
      offered(system("limit_reached", "tokens"), system("no_progress", "exact_repeat")).grant.turns,
    ).toBe(10);
    expect(offered().grant.turns).toBe(10);
  });

  it("does not take a warning for the end", () => {
    expect(offered(system("limit_reached", "tokens"), system("limit_warning", "turns")).grant.tokens).toBe(
      50_000,
    );
  });

  it("stays under the cap on grants of a small budget", () => {
    expect(offered(budget({ turns: 3 }), system("limit_reached", "turns")).label).toBe(
      "Continue with 3 more turns",
    );
    expect(offered(budget({ turns: 1 }), system("limit_reached", "turns")).label).toBe(
      "Continue with 1 more turn",
    );
    expect(offered(budget({ turns: 5 }), system("limit_reached", "turns")).grant.turns).toBe(10);
    expect(offered(budget({ cost_usd: "0.05" }), system("limit_reached", "cost_usd")).label).toBe(
      "Continue with $0.05 more",
    );
  });

  it("reckons with the first limit, not with what grants made of it", () => {
    const grant: Chunk = { type: "grant", added: { turns: 3 }, by: "ana", why: "" };
    expect(offered(budget({ turns: 3 }), grant, system("limit_reached", "turns")).grant.turns).toBe(3);
  });
});
