import { beforeEach, describe, expect, it, vi } from "vitest";
import { Problem } from "@/api/problem";
import { Saver } from "./saver";

type Sent = { name: string; value: string; done: () => void; fail: (error: unknown) => void };

/** A saver whose server answers when the test says so. */
function saving() {
  const sent: Sent[] = [];
  const saver = new Saver<string, string>(
    (name, value) =>
      new Promise((resolve, reject) => {
        sent.push({ name, value, done: () => resolve(), fail: reject });
      }),
  );
  const told = () => sent.map((one) => `${one.name}=${one.value}`);
  return { saver, sent, told };
}

const REFUSED = new Problem(422, {
  code: "invalid_value",
  what: "turns was 500",
  allowed: "1 to 100",
  to_do: "",
  field: "turns",
  value: 500,
  bounds: null,
});

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

const passed = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("a saver", () => {
  it("sends the last of many quick changes, once", async () => {
    const { saver, told } = saving();
    for (const value of ["1", "12", "120"]) {
      saver.change("turns", value);
      await passed(200);
    }
    expect(told()).toEqual([]);
    await passed(400);
    expect(told()).toEqual(["turns=120"]);
  });

  it("sends one field at a time, so that no answer undoes another", async () => {
    const { saver, sent, told } = saving();
    saver.change("turns", "5");
    saver.change("tokens", "9000");
    await passed(500);
    expect(told()).toEqual(["turns=5"]);
    sent[0]?.done();
    await passed(0);
    expect(told()).toEqual(["turns=5", "tokens=9000"]);
  });

  it("says saved when it is, and nothing more after a while", async () => {
    const { saver, sent } = saving();
    saver.change("turns", "5");
    expect(saver.read().turns).toEqual({ state: "waiting", draft: "5" });
    await passed(400);
    expect(saver.read().turns).toEqual({ state: "saving", draft: "5" });
    sent[0]?.done();
    await passed(0);
    expect(saver.read().turns).toEqual({ state: "saved" });
    await passed(5_000);
    expect(saver.read().turns).toBeUndefined();
  });

  it("keeps what is typed while an older value is being saved, and saves it next", async () => {
    const { saver, sent, told } = saving();
    saver.change("turns", "5");
    await passed(400);
    saver.change("turns", "6");
    sent[0]?.done();
    await passed(0);
    expect(saver.read().turns).toEqual({ state: "waiting", draft: "6" });
    await passed(400);
    expect(told()).toEqual(["turns=5", "turns=6"]);
  });

  it("keeps a refused value in its field, with why, and goes on with the others", async () => {
    const { saver, sent, told } = saving();
    saver.change("turns", "500");
    saver.change("tokens", "9000");
    await passed(400);
    sent[0]?.fail(REFUSED);
    await passed(0);
    expect(saver.read().turns).toEqual({ state: "failed", draft: "500", problem: REFUSED });
    expect(told()).toEqual(["turns=500", "tokens=9000"]);
  });

  it("tries again when asked to, once however often", async () => {
    const { saver, sent, told } = saving();
    saver.change("turns", "5");
    await passed(400);
    sent[0]?.fail(new TypeError("Failed to fetch"));
    await passed(0);
    expect(saver.read().turns).toMatchObject({ state: "failed", problem: { status: 0 } });
    saver.retry("turns");
    saver.retry("turns");
    await passed(0);
    sent[1]?.done();
    await passed(0);
    expect(told()).toEqual(["turns=5", "turns=5"]);
    expect(saver.read().turns).toEqual({ state: "saved" });
  });

  it("loses nothing when somebody leaves before the moment has passed", async () => {
    const { saver, told } = saving();
    saver.change("turns", "5");
    saver.flush();
    await passed(0);
    expect(told()).toEqual(["turns=5"]);
  });

  it("drops what was not sent for a reset, which waits for what was", async () => {
    const { saver, sent, told } = saving();
    const reset = vi.fn(async () => undefined);
    saver.change("turns", "5");
    await passed(400);
    saver.change("tokens", "9000");
    const done = saver.instead(reset);
    await passed(1_000);
    expect(reset).not.toHaveBeenCalled();
    sent[0]?.done();
    await passed(0);
    await done;
    expect(reset).toHaveBeenCalledOnce();
    expect(told()).toEqual(["turns=5"]);
    expect(saver.read()).toEqual({});
  });

  it("goes on after a reset that failed", async () => {
    const { saver, told } = saving();
    await expect(saver.instead(() => Promise.reject(REFUSED))).rejects.toBe(REFUSED);
    saver.change("turns", "5");
    await passed(400);
    expect(told()).toEqual(["turns=5"]);
  });
});
