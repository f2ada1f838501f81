// @vitest-environment jsdom
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { Markdown } from "./markdown";

beforeAll(async () => void (await import("./markdown-block")), 30_000); // it is large: not on the time of a test
afterEach(cleanup);

/** Wait for what was loaded on demand. */
const drawn = async (text: string) => {
  const { container } = render(<Markdown text={`${text}\n\n**drawn**`} />);
  await screen.findByText("drawn", { selector: "strong" });
  return container;
};

describe("Markdown from a model that means harm", () => {
  it("draws no HTML, and shows it as text", async () => {
    const page = await drawn(
      '<img src=x onerror="alert(1)"><script>alert(1)</script>\n\nin <b onclick="x">line</b>',
    );
    expect(page.querySelector("img, script, b")).toBeNull();
    expect(page.textContent).toContain("<script>alert(1)</script>");
  });

  it("loads no images", async () => {
    const page = await drawn("![cat](https://evil.example/cat.png)");
    expect(page.querySelector("img")).toBeNull();
    expect(page.textContent).toContain("cat");
  });

  it("links only to safe places, and gives nothing away there", async () => {
    const page = await drawn(
      "[a](javascript:alert(1)) [b](https://example.org) [c](data:text/html,x) <javascript:alert(1)>",
    );
    const links = [...page.querySelectorAll("a")];
    expect(links.map((link) => link.getAttribute("href"))).toEqual(["https://example.org"]);
    expect(links[0]?.rel).toBe("noreferrer noopener");
  });
});

describe("Markdown", () => {
  it("joins references with what they refer to, though they are drawn apart", async () => {
    const page = await drawn("See [it][1].\n\nMore.\n\n[1]: https://example.org/it");
    expect(page.querySelector("a")?.getAttribute("href")).toBe("https://example.org/it");
  });

  it("lets a line break be one", async () => {
    const page = await drawn("| a |\n|---|\n| one<br>two |");
    expect(page.querySelector("td br")).not.toBeNull();
  });

  it("does not draw finished blocks again while more text comes", async () => {
    const { container, rerender } = render(<Markdown text={"first **one**\n\nsec"} isStreaming />);
    const first = await screen.findByText("one", { selector: "strong" });
    rerender(<Markdown text={"first **one**\n\nsecond\n\n# Third\n\nmore **and"} isStreaming />);
    expect(container.querySelector("strong")).toBe(first);
    expect(container.textContent).toBe("first onesecondThirdmore and");
    const second = screen.getByText("second");
    rerender(<Markdown text={"first **one**\n\nsecond\n\n# Third\n\nmore **and more**"} />);
    expect(screen.getByText("second")).toBe(second);
  });
});
