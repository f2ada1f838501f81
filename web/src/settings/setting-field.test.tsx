// @vitest-environment jsdom
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Problem } from "@/api/problem";
import { type Field, GROUPS } from "./fields";
import type { FieldState } from "./saver";
import { SettingField } from "./setting-field";
import type { Typed } from "./settings-queries";

beforeEach(() => {
  // What the slider measures itself with; jsdom has none.
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      unobserve() {}
      disconnect() {}
    },
  );
  return () => vi.unstubAllGlobals();
});
afterEach(cleanup);

const COST: Field = GROUPS.flatMap((group) => group.fields.filter((one) => one.isMoney))[0] ?? fail();
const BOUND = { default: null, smallest: "0.01", largest: "1000" };

function fail(): never {
  throw new Error("there is no setting in money");
}

/** A server that takes everything at once, and writes numbers its own way. */
function Saved({ first }: { first: string | null }) {
  const [value, setValue] = useState(first);
  return (
    <SettingField
      field={COST}
      bound={BOUND}
      value={value}
      state={{ state: "saved" }}
      onChange={(typed) => setValue(typed === null ? null : typed && String(Number(typed)))}
      onRetry={() => undefined}
    />
  );
}

function shown(state: FieldState<Typed>, onRetry = () => undefined) {
  render(
    <SettingField
      field={COST}
      bound={BOUND}
      value="1"
      state={state}
      onChange={() => undefined}
      onRetry={onRetry}
    />,
  );
}

it("leaves what is being typed alone, though it was saved and is written another way", async () => {
  render(<Saved first="3" />);
  const field = screen.getByLabelText<HTMLInputElement>("Cost");
  await userEvent.clear(field);
  await userEvent.type(field, "1.05");
  expect(field.value).toBe("1.05");
  await userEvent.clear(field);
  await userEvent.type(field, "2.00");
  expect(field.value).toBe("2.00");
  await userEvent.tab();
  expect(field.value).toBe("2");
});

it("can have no limit, and one again", async () => {
  render(<Saved first={null} />);
  expect(screen.getByLabelText<HTMLInputElement>("Cost").disabled).toBe(true);
  await userEvent.click(screen.getByLabelText("No limit"));
  expect(screen.getByLabelText<HTMLInputElement>("Cost").value).toBe("1");
  await userEvent.click(screen.getByLabelText("No limit"));
  expect(screen.getByLabelText<HTMLInputElement>("Cost").value).toBe("");
});

it("shows beside the field what the server says, keeps the value, and can try again", async () => {
  const onRetry = vi.fn();
  const detail = {
    code: "invalid_value",
    what: "cost_limit_usd is '0,5'",
    allowed: "dollars from 0.01 to 1,000",
    to_do: "",
    field: "cost_limit_usd",
    value: "0,5",
    bounds: null,
  };
  shown({ state: "failed", draft: "0,5", problem: new Problem(422, detail) }, onRetry);
  const field = screen.getByLabelText<HTMLInputElement>("Cost");
  expect(field.value).toBe("0,5");
  expect(field.getAttribute("aria-invalid")).toBe("true");
  const described = (field.getAttribute("aria-describedby") ?? "").split(" ");
  const wrong = screen.getByRole("alert");
  expect(described).toContain(wrong.id);
  expect(wrong.textContent).toContain("cost_limit_usd is '0,5'");
  expect(wrong.textContent).toContain("dollars from 0.01 to 1,000");
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(onRetry).toHaveBeenCalledOnce();
});
