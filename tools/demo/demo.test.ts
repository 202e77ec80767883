import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { countUnmet, reportText } from "./report.ts";
import { expect } from "./stage.ts";

const DEMO = fileURLToPath(new URL("../demo.ts", import.meta.url));

describe("the demo", () => {
  it("runs its load, and finds all as it should be", async () => {
    // Rejects, with the output, if the demo does not end with 0.
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [DEMO]);
    assert.equal(stderr, "");
    assert.match(stdout, /\nafter \d+ s: \d+ of \d+ executions are final\n/);
    assert.match(stdout, /\nSTORY .*\nnow +300 +300 SUCCEEDED +300 /);
    assert.match(stdout, /\nAll is as it should be, after [\d.]+ s\.\n$/);
    assert.ok(!stdout.includes("\u001b"), "no terminal, no bars that move");
  });

  it("says what is not as it should be, and counts a story that checks nothing", () => {
    const executions: never[] = [];
    const accounts = new Map([
      ["good", { executions, expectations: [expect("it went well", true)] }],
      ["bad", { executions, expectations: [expect("it came", true), expect("it saw", false)] }],
      ["lazy", { executions, expectations: [] }],
    ]);
    assert.equal(countUnmet(accounts), 2);
    assert.match(reportText(accounts), /\nok {3}bad: it came\nNOT {2}bad: it saw$/);
  });
});
