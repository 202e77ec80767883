import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LoopProbe } from "../../../../tools/loop-probe.ts";
import { Attacker, type Outcome } from "./attacker.ts";
import { holdsBriefly } from "./holds-briefly.ts";
import { startTarget, type Target } from "./target.ts";

const MIB = 1024 * 1024;
const JOB = '{"target":{"handler":"none"}';
const BATCH = "/v1/jobs/batch";

type Body = readonly (readonly [text: string, times: number])[];

interface Shape {
  path?: string;
  body: Body;
  status: number;
  /** Whether each try has an idempotency key of its own. */
  isKeyed?: boolean;
  /** Largest allowed size of the answer, in bytes. */
  bytesMax?: number;
}

/** A batch that repeats one text. */
function batchOf(job: string, count: number): Body {
  return [
    ['{"jobs":[', 1],
    [`${job},`, count - 1],
    [`${job}]}`, 1],
  ];
}

const SHORT = 4_096;

const REFUSED: Record<string, Shape> = {
  "32 MiB of jobs that are numbers": { path: BATCH, body: batchOf("1", 16 * MIB - 16), status: 400, bytesMax: SHORT },
  "10,000 jobs with an unknown field": { path: BATCH, body: batchOf('{"x":1}', 10_000), status: 400, bytesMax: SHORT },
  "26 MiB of unknown fields beside the jobs": {
    path: BATCH,
    body: [
      [`{"jobs":[${JOB}}]`, 1],
      [',"abcdefghijklmnop":1', 1.25 * MIB],
      ["}", 1],
    ],
    status: 400,
    bytesMax: 2 * SHORT,
  },
  "a megabyte of unknown fields": {
    body: [
      [JOB, 1],
      [',"abcdefghijklmnop":1', 45_000],
      ["}", 1],
    ],
    status: 400,
    bytesMax: 2 * SHORT,
  },
  "a field that is repeated": {
    body: [
      [JOB, 1],
      [',"name":"a"', 90_000],
      ["}", 1],
    ],
    status: 400,
    bytesMax: SHORT,
  },
  "a hundred thousand labels": {
    body: [
      [`${JOB},"labels":{"a":"b"`, 1],
      [',"a":"b"', 110_000],
      ["}}", 1],
    ],
    status: 400,
    bytesMax: SHORT,
  },
  "a megabyte of brackets": { body: [["[", MIB]], status: 400, bytesMax: SHORT },
  "a payload that is nested too deeply": {
    body: [
      [`${JOB},"payload":`, 1],
      ["[", 100_000],
      ["]", 100_000],
      ["}", 1],
    ],
    status: 400,
    bytesMax: SHORT,
  },
  "a name of a megabyte": {
    body: [
      [`${JOB},"name":"`, 1],
      ["\\u0041", 170_000],
      ['"}', 1],
    ],
    status: 400,
    bytesMax: SHORT,
  },
  "a number of a megabyte": {
    body: [
      [`${JOB},"delayMs":1`, 1],
      ["0", MIB],
      ["}", 1],
    ],
    status: 400,
    bytesMax: SHORT,
  },
  "a cron expression of a hundred thousand characters": {
    body: [
      [`${JOB},"schedule":"`, 1],
      ["*,", 50_000],
      ['* * * * *"}', 1],
    ],
    status: 400,
    bytesMax: SHORT,
  },
  "5,000 cron expressions that never fire": {
    path: BATCH,
    body: batchOf(`${JOB},"schedule":"0 0 30 2 *","timezone":"America/New_York"}`, 5_000),
    status: 400,
    bytesMax: SHORT,
  },
};

const TAKEN: Record<string, Shape> = {
  "a payload of a megabyte of small arrays": {
    body: [
      [`${JOB},"payload":[1`, 1],
      [",[]", 340_000],
      ["]}", 1],
    ],
    status: 201,
  },
  "a batch of 10,000": { path: BATCH, body: batchOf(`${JOB}}`, 10_000), status: 200 },
  "a batch of 9,000 with 60 labels each": {
    path: BATCH,
    body: batchOf(`${JOB},"labels":{${Array.from({ length: 60 }, (_, n) => `"label${n}":"v"`).join(",")}}}`, 9_000),
    status: 200,
  },
  "a batch of 10,000 concurrency keys": {
    path: BATCH,
    body: [
      ['{"jobs":[', 1],
      ...Array.from({ length: 9_999 }, (_, n) => [`${JOB},"concurrencyKey":"k${n}"},`, 1] as const),
      [`${JOB}}]}`, 1],
    ],
    status: 200,
  },
  "a batch of 10,000 with 30 MiB of payloads under a key": {
    path: BATCH,
    body: batchOf(`${JOB},"payload":[${"[],".repeat(1_000)}1]}`, 10_000),
    isKeyed: true,
    status: 200,
  },
  "a batch of 31 payloads of a megabyte": {
    path: BATCH,
    body: batchOf(`${JOB},"payload":"${"x".repeat(MIB - 64)}"}`, 31),
    status: 200,
  },
  "9,999 bad jobs and a good one": {
    path: BATCH,
    body: [
      ['{"jobs":[', 1],
      ['{"x":1},', 9_999],
      [`${JOB}}]}`, 1],
    ],
    status: 200,
    bytesMax: 1.5 * MIB,
  },
  "5,000 rare cron expressions": {
    path: BATCH,
    body: batchOf(`${JOB},"schedule":"0 0 29 2 1","timezone":"America/New_York"}`, 5_000),
    status: 200,
  },
  "a preview of the rarest cron expression": {
    path: "/v1/schedules/preview",
    body: [['{"schedule":"0 0 29 2 */7","timezone":"America/New_York","count":1000}', 1]],
    status: 200,
  },
};

describe("bodies of every shape", () => {
  let target: Target;
  let probe: LoopProbe;
  const attacker = new Attacker();
  before(async () => {
    target = await startTarget();
    probe = new LoopProbe();
    // Compilation at the first use must not count as a block by a body.
    for (const path of ["/v1/jobs", BATCH])
      await send({ path, body: [[path === BATCH ? `{"jobs":[${JOB}}]}` : `${JOB}}`, 1]], status: 0 });
    probe.read();
  });
  after(async () => {
    probe.stop();
    await attacker.stop();
    await target.stop();
  });

  let sent = 0;
  const send = ({ path = "/v1/jobs", body, isKeyed = false }: Shape): Promise<Outcome> => {
    const headers = isKeyed ? { "idempotency-key": `key-${++sent}` } : {};
    return attacker.send({ port: target.port, method: "POST", path, headers, body });
  };

  for (const [kind, shapes] of Object.entries({ refuses: REFUSED, takes: TAKEN })) {
    for (const [name, shape] of Object.entries(shapes)) {
      it(`${kind} ${name} without holding the event loop`, async (t) => {
        await holdsBriefly(t, probe, async () => {
          const { status, bytes, head } = await send(shape);
          assert.equal(status, shape.status, head);
          assert.ok(bytes <= (shape.bytesMax ?? 2 * MIB), `an answer of ${bytes} bytes`);
        });
      });
    }
  }

  it("takes back all memory that bodies held", async () => {
    const { arrayBuffers, rss } = process.memoryUsage();
    assert.ok(arrayBuffers < 200 * MIB, `${arrayBuffers} bytes of buffers`);
    assert.ok(rss < 1024 * MIB, `${rss} bytes resident`);
  });

  it("takes eight batches of 10,000 at once, or refuses some of them, without holding the event loop", async (t) => {
    const attackers = Array.from({ length: 8 }, () => new Attacker());
    t.after(() => Promise.all(attackers.map((one) => one.stop())));
    const attack = { port: target.port, method: "POST", path: BATCH, body: batchOf(`${JOB}}`, 10_000) };
    await holdsBriefly(t, probe, async () => {
      const outcomes = await Promise.all(attackers.map((one) => one.send(attack)));
      for (const { status, head } of outcomes) assert.ok(status === 200 || status === 429, head);
    });
  });
});
