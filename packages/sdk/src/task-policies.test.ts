import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HandlerPolicies } from "@mainspring/contract";
import { LINE_CHARS_MAX } from "@mainspring/contract/limits";
import { Feature } from "@mainspring/proto";
import { SessionScene } from "../test/session-scene.ts";
import type { Client } from "./client/client.ts";
import { task } from "./task.ts";
import { KEY_CHARS_MAX, POLICY_NAMES, POLICY_RANGES, RETRY_RANGES } from "./task-policies.ts";
import { Worker } from "./worker.ts";

const run = () => null;

describe("policies of a task", () => {
  it("are in the jobs that the task makes, and an option of the submit comes first", async () => {
    const keyed = task({
      name: "mail",
      pool: "mails",
      timeoutSec: 5,
      concurrencyLimit: 2,
      concurrencyKey: (payload) => `c-${payload.id}`,
      uniqueKey: "u-{payload.to.name}",
      run: (_payload: { id: number; to: { name: string } }) => null,
    });
    const payload = { id: 7, to: { name: "Ada" } };
    const job = { target: { handler: "mail", pool: "mails" }, payload, concurrencyLimit: 2, timeoutSec: 5 };
    assert.deepEqual(await keyed.job(payload), { ...job, concurrencyKey: "c-7", uniqueKey: "u-Ada" });
    assert.deepEqual(await keyed.job(payload, { pool: "p", timeoutSec: 1, uniqueKey: "{own}", concurrencyKey: "k" }), {
      ...{ ...job, target: { handler: "mail", pool: "p" } },
      ...{ timeoutSec: 1, uniqueKey: "{own}", concurrencyKey: "k" },
    });
  });

  it("make no job where a key needs what the payload lacks", async () => {
    const keyed = task<{ id?: string }, null>({ name: "mail", uniqueKey: "u-{payload.id}", run });
    await assert.rejects(keyed.job({}), {
      code: "INVALID_PAYLOAD",
      message: /task "mail": uniqueKey needs payload\.id/,
    });
    const empty = task<{ id?: string }, null>({ name: "mail", uniqueKey: ({ id = "" }) => id, run });
    await assert.rejects(empty.job({}), { code: "INVALID_PAYLOAD", message: /uniqueKey must give a text of 1 to 255/ });
  });

  it("are refused where they cannot hold, with the task, the option and what would be right", () => {
    const wrong: [object, RegExp][] = [
      [{ timeoutSec: 0 }, /^task "t": timeoutSec: must be a number from 0.001 to 2592000, not 0$/],
      [{ maxLifetimeSec: 0.5 }, /^task "t": maxLifetimeSec: must be a number from 1 to 315360000, not 0.5$/],
      [{ maxLost: 1.5 }, /maxLost: must be a whole number from 1 to 1000, not 1.5/],
      [{ retry: { maxAttempts: 0 } }, /retry\.maxAttempts: must be a whole number from 1/],
      [{ retry: { maxAttemps: 2 } }, /retry\.maxAttemps: is no option: there are maxAttempts/],
      [{ retry: { initialDelayMs: 5, maxDelayMs: 4 } }, /retry\.maxDelayMs: must be at least initialDelayMs/],
      [{ retry: 3 }, /retry: must be an object/],
      [{ priority: "URGENT" }, /priority: must be a whole number from 0 to 9, or LOW/],
      [{ onWorkerLost: "dead" }, /onWorkerLost: must be RETRY or DEAD/],
      [{ concurrencyLimit: 2 }, /concurrencyLimit: needs concurrencyKey/],
      [{ uniqueKey: "" }, /uniqueKey: must be a text of 1 to 255 characters, or a function/],
      [{ uniqueKey: "{payload}" }, /uniqueKey: has the placeholder \{payload\}: write/],
      [{ pool: "a b" }, /pool: letters, digits/],
      [{ timoutSec: 5 }, /there is no option timoutSec; policies are pool, retry, timeoutSec/],
    ];
    for (const [options, message] of wrong)
      assert.throws(() => task({ name: "t", ...options, run }), { code: "BAD_OPTION", message });
  });

  it("are refused by the compiler at the option", () => {
    const compiled = [
      // @ts-expect-error -- timeoutSec
      () => task({ name: "t", timoutSec: 5, run }),
      // @ts-expect-error -- a number
      () => task({ name: "t", timeoutSec: "5", run }),
      // @ts-expect-error -- maxAttempts
      () => task({ name: "t", retry: { maxAttemps: 5 }, run }),
      // @ts-expect-error -- a job that recurs has no runAt
      () => task({ name: "t", schedule: { schedule: "0 3 * * *", runAt: new Date(0) }, run }),
      // @ts-expect-error -- the payload has no b
      () => task({ name: "t", concurrencyKey: (payload) => payload.b, run: (payload: { a: string }) => payload.a }),
      // @ts-expect-error -- a job that recurs has no runAt
      (client: Client) => client.submit({ target: { handler: "t" }, schedule: "@daily", runAt: new Date(0) }),
      // @ts-expect-error -- priority
      (client: Client) => task({ name: "t", run }).submit(client, null, { prioriti: 1 }),
    ];
    assert.equal(compiled.length, 7);
  });

  it("have the ranges of the API", () => {
    const { retryPolicy, ...fields } = HandlerPolicies.properties;
    const rangeOf = ({ minimum, maximum, type }: { minimum?: unknown; maximum?: unknown; type?: unknown }) => [
      minimum,
      maximum,
      type === "integer",
    ];
    for (const [name, range] of Object.entries(POLICY_RANGES))
      assert.deepEqual([...range], rangeOf(fields[name as "timeoutSec"]));
    for (const [name, range] of Object.entries(RETRY_RANGES))
      assert.deepEqual([...range], rangeOf(retryPolicy.properties[name as "maxAttempts"]));
    assert.deepEqual([...POLICY_NAMES].sort(), [...Object.keys(fields), "pool", "retry"].sort());
    assert.equal(KEY_CHARS_MAX, LINE_CHARS_MAX);
  });

  it("are in the hello of a worker as far as they are no functions", () => {
    const declared = task({
      name: "mail",
      pool: "p",
      retry: { maxAttempts: 2 },
      uniqueKey: () => "x",
      concurrencyKey: "c",
      concurrencyLimit: 3,
      run,
    });
    assert.equal(task({ name: "plain", run }).policies, undefined);
    assert.deepEqual(JSON.parse(declared.policies ?? ""), {
      pool: "p",
      retryPolicy: { maxAttempts: 2 },
      concurrencyKey: "c",
      concurrencyLimit: 3,
    });
    const scene = new SessionScene();
    scene.session.start();
    const { policies = [], features = 0 } = scene.sent()[0]?.hello ?? {};
    const told = policies.map((one) => [one.handler, Buffer.from(one.policies).toString()]);
    assert.deepEqual(told, [["noop", '{"timeoutSec":5}']]);
    assert.equal(features & Feature.POLICIES, Feature.POLICIES);
  });

  it("are told again by a worker that comes back, which says so", async () => {
    const scene = new SessionScene();
    scene.session.start();
    await scene.reconnect();
    assert.equal(scene.sent()[0]?.hello?.returning, false, "no server has welcomed it yet");
    scene.welcome();
    await scene.reconnect();
    const hello = scene.sent()[0]?.hello;
    assert.deepEqual([hello?.returning, hello?.policies.length], [true, 1]);
  });

  it("name the pool of their worker, which is one for all of its tasks", () => {
    const inPool = (name: string, pool?: string) => task({ name, ...(pool !== undefined && { pool }), run });
    const make = (tasks: ReturnType<typeof inPool>[], pool?: string) =>
      new Worker({ tasks, url: "127.0.0.1:1", ...(pool !== undefined && { pool }) });
    make([inPool("a", "p"), inPool("b")]);
    make([inPool("a", "p")], "p");
    assert.throws(() => make([inPool("a", "p"), inPool("b", "q")]), {
      code: "BAD_OPTION",
      message: /the pool of "b" is "q", and this worker serves "p", as the task "a" says: start a worker for each pool/,
    });
    assert.throws(() => make([inPool("a", "p")], "default"), {
      code: "BAD_OPTION",
      message: /the pool of "a" is "p", and this worker serves "default"/,
    });
  });
});
