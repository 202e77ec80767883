import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { printable, printableLines } from "./printable.ts";

describe("text of others on a terminal", () => {
  it("shows what a terminal would obey, of every kind", () => {
    assert.equal(printable("\u001b[2J\u0007\u007f"), "\\u001b[2J\\u0007\\u007f");
    // The control character CSI, one character of the C1 set.
    assert.equal(printable("\u009b2J\u0085"), "\\u009b2J\\u0085");
    // Characters that change the direction of writing, with which a name can show as "safe.exe" and be another.
    assert.equal(printable("a\u202egpj\u2066\u200f\u061c"), "a\\u202egpj\\u2066\\u200f\\u061c");
    assert.equal(printable("one\r\ntwo\tthree\u2028four"), "one\\r\\ntwo\\tthree\\u2028four");
    assert.equal(printable("caf\u00e9 \u65e5\u672c \u{1f600} \u05d0"), "caf\u00e9 \u65e5\u672c \u{1f600} \u05d0");
  });

  it("stays as it is where it is safe already", () => {
    assert.equal(printable(printable("\u001b[2J\n")), "\\u001b[2J\\n");
  });

  it("keeps its lines where it may have some", () => {
    assert.equal(printableLines("one\n\u001b[2Jtwo\r"), "one\n\\u001b[2Jtwo\\r");
  });
});
