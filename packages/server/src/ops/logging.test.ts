import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { API_KEY_KINDS } from "@mainspring/contract/enums";
import { keyHint, keyText } from "../domain/api-key.ts";
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

  it("has no API key and no token, in whichever field or sentence they stand", () => {
    const lines: string[] = [];
    const log = createLog("trace", { write: (line) => void lines.push(line) });
    const keys = API_KEY_KINDS.map((kind) => keyText(kind, "aB3".repeat(13).slice(0, 38)));
    const token = ["eyJhbGciOiJSUzI1NiJ9", "eyJzdWIiOiJzaG9wIn0", "c2lnbmF0dXJl"].join(".");
    for (const secret of [...keys, token]) {
      log.info(`the client sent ${secret}, which nobody knows`);
      log.warn({ anything: { deep: [{ header: `Bearer ${secret}` }] }, [secret]: 1 }, "a request was refused");
      log.error({ err: new Error(`no "${secret}"`, { cause: new Error(secret) }) }, "it failed");
      log.debug({ url: `http://host/?key=${secret}&x=1` });
    }
    const text = lines.join("");
    assert.equal(lines.length, 4 * (keys.length + 1));
    for (const secret of [...keys, token]) {
      assert.ok(!text.includes(secret));
      assert.ok(!text.includes(secret.slice(8)), "no part of it");
    }
    assert.ok(text.includes("the client sent msc_[secret], which nobody knows"));
    for (const line of lines) JSON.parse(line);
    const { id, hint } = { id: "019a0000-0000-7000-8000-000000000000", hint: keyHint(keys[0] as string) };
    log.info({ keyId: id, hint }, "a key is named by its id and its hint");
    assert.deepEqual([lines.at(-1)?.includes(id), lines.at(-1)?.includes(hint)], [true, true]);
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
