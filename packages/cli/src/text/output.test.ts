import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Execution, MainspringError } from "@mainspring/sdk";
import { OBEYED } from "../../test/testing/obeyed.ts";
import { failureOf } from "../failure.ts";
import { executionText } from "./execution-text.ts";
import { LiveLines } from "./live-lines.ts";
import { facts, jsonLine, screenText, table } from "./output.ts";

describe("output for people", () => {
  it("aligns columns under their headings", () => {
    assert.equal(table(["ID", "STATE"], [["a-long-id", "DEAD"]]), "ID         STATE\na-long-id  DEAD");
  });

  it("aligns values behind their names", () => {
    assert.equal(
      facts([
        ["state", "DEAD"],
        ["pool", "p"],
      ]),
      "state  DEAD\npool   p",
    );
  });

  it("shows control characters instead of letting the terminal obey them", () => {
    assert.equal(table(["ERROR"], [["\u001b[2Jgone\n"]]), "ERROR\n\\u001b[2Jgone\\n");
  });

  it("shows what a remote server answered to a handler, and obeys nothing of it", () => {
    const answered = "\u001b]0;title\u0007\u009b31mHTTP 500\nexecution  SUCCEEDED\u202e";
    const error = { name: "Error\u001b[1A", message: answered };
    const base = { reason: null, payload: null, result: null, handler: "http", pool: "p", assignedWorker: null };
    const attempt = { attempt: 1, state: "FAILED", workerId: "w", startedAt: null, finishedAt: "t", error };
    const text = executionText({ ...base, error, attempts: [attempt] } as unknown as Execution);
    assert.doesNotMatch(text, OBEYED);
    assert.match(
      text,
      /^error: Error\\u001b\[1A: \\u001b\]0;title\\u0007\\u009b31mHTTP 500\\nexecution {2}SUCCEEDED\\u202e$/m,
    );
  });

  it("guards whatever a text forgot, and keeps its own bold headings", () => {
    assert.equal(screenText("\u001b[1mID\u001b[22m\na\u001b[2Jb"), "\u001b[1mID\u001b[22m\na\\u001b[2Jb");
    const written: string[] = [];
    const lines = new LiveLines({ isTTY: true, write: (text) => written.push(text) });
    lines.print("a\u009b2J\nb");
    lines.show(["c\u001b[2J"]);
    assert.deepEqual(written, ["a\\u009b2J\\nb\n", "c\\u001b[2J\n"]);
  });

  it("writes the same value for programs, though a terminal obeys nothing of it", () => {
    const value = { name: "a\u009b2J\u202eb\u007f\n" };
    assert.doesNotMatch(jsonLine(value), OBEYED);
    assert.deepEqual(JSON.parse(jsonLine(value)), value);
  });

  it("tells a refusal of a server on one line", () => {
    const { message } = failureOf(new MainspringError("BAD_OPTION", "no\u001b[2J\nmainspring: all is well"));
    assert.equal(message, "no\\u001b[2J\\nmainspring: all is well");
  });
});
