import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StoreUnavailable } from "../ports/store.ts";
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

  it("writes a hundred lines at most in an outage of a minute, and says how many there were", () => {
    const lines: string[] = [];
    let nowMs = 0;
    const log = createLog("info", { write: (line) => void lines.push(line) }, { monotonicMs: () => nowMs });
    const error = new StoreUnavailable("PostgreSQL did not answer");
    const messages = [
      "the api got no answer",
      "a commit was not answered",
      "the lease could not be renewed",
      "a look failed",
    ];
    for (; nowMs < 60_000; nowMs += 4) for (const message of messages) log.warn({ err: error }, message);
    assert.ok(lines.length <= 40, `${lines.length} lines`);
    assert.doesNotMatch(lines.join(), /"stack"/);
    const of = (message: string) => lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === message);
    const [first, ...others] = of("a commit was not answered");
    assert.equal(first.repeated, undefined);
    assert.ok(others.at(-1).repeated > 1_000);
    log.info("news are not counted");
    log.info("news are not counted");
    assert.equal(of("news are not counted").length, 2);
  });
});
