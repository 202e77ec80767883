import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLog } from "./logging.ts";

describe("the log", () => {
  it("is a JSON object a line, without secrets wherever they stand", () => {
    const lines: string[] = [];
    const log = createLog("info", { write: (line) => void lines.push(line) });
    const error = Object.assign(new Error("cannot reach postgres://me:hunter2@db/x"), { detail: "hunter2" });
    log.info({ config: { apiKey: "hunter2" }, password: "hunter2" }, "starting with postgres://me:hunter2@db:5432/x");
    log.warn({ err: new Error("outer", { cause: error }), url: "postgres://me:hunter2@db/x" }, "failed");
    log.debug("not at this level");
    assert.equal(lines.length, 2);
    assert.doesNotMatch(lines.join(), /hunter2/);
    const [first, second] = lines.map((line) => JSON.parse(line));
    assert.equal(first.msg, "starting with postgres://me:[secret]@db:5432/x");
    assert.deepEqual([first.level, first.config.apiKey, first.pid], ["info", "[secret]", undefined]);
    assert.match(second.err.message, /outer: cannot reach postgres:\/\/me:\[secret\]@db/);
    assert.ok(second.err.stack);
  });
});
