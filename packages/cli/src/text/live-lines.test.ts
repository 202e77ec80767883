import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bar, LiveLines } from "./live-lines.ts";

describe("live lines", () => {
  it("replace each other on a terminal, below the lines that stay", () => {
    const terminal = screen(true);
    const lines = new LiveLines(terminal);
    lines.show(["a 1", "b 1"]);
    lines.show(["a 2", "b 2"]);
    lines.print("news");
    assert.deepEqual(terminal.written, [
      "a 1\nb 1\n",
      "\u001b[2A\r\u001b[Ja 2\nb 2\n",
      "\u001b[2A\r\u001b[Jnews\na 2\nb 2\n",
    ]);
  });

  it("are cut where the terminal ends, because what wraps cannot be replaced", () => {
    const terminal = screen(true);
    new LiveLines(terminal).show(["0123456789abc"]);
    assert.deepEqual(terminal.written, ["012345678\n"]);
  });

  it("leave out what changes where there is no terminal", () => {
    const file = screen(false);
    const lines = new LiveLines(file);
    lines.show(["a 1"]);
    lines.print("news");
    assert.deepEqual(file.written, ["news\n"]);
  });
});

describe("a bar", () => {
  it("is full at the end only", () => {
    assert.equal(bar(0, 4), "[....]   0 %");
    assert.equal(bar(0.999, 4), "[###.]  99 %");
    assert.equal(bar(1, 4), "[####] 100 %");
    assert.equal(bar(7, 4), "[####] 100 %");
  });
});

function screen(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, columns: 10, written, write: (text: string) => written.push(text) };
}
