import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { firstExecutionId, shardOf } from "../../domain/ids.ts";
import type { ToScheduler } from "../../ports/messages.ts";
import { playOwner, startTestApi, type TestApi } from "../api.fixture.ts";

const JSON_TYPE = { "content-type": "application/json" };

describe("submitting over HTTP", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.stop());

  const submit = (body: unknown, headers: Record<string, string> = {}, url = "/v1/jobs") =>
    api.inject({
      method: "POST",
      url,
      headers: { ...JSON_TYPE, ...headers },
      payload: typeof body === "string" ? body : JSON.stringify(body),
    });
  const read = async (url: string) => (await api.inject({ method: "GET", url })).json();

  it("takes a job that says nothing but its handler, and fills in every default", async () => {
    const answer = await submit({ target: { handler: "echo" } });
    assert.equal(answer.statusCode, 201, answer.body);
    const { jobId, executionId, ...rest } = answer.json();
    assert.deepEqual(rest, { state: "ACTIVE", nextFireAt: null });

    const job = await read(`/v1/jobs/${jobId}`);
    assert.deepEqual(job.target, { pool: "default", handler: "echo", requires: [] });
    assert.deepEqual(
      [job.type, job.priority, job.timeoutSec, job.cancelGraceSec, job.maxLost],
      ["ONCE", 5, 3600, 10, 3],
    );
    assert.deepEqual(job.retryPolicy, {
      maxAttempts: 5,
      backoff: "EXPONENTIAL",
      initialDelayMs: 1_000,
      maxDelayMs: 3_600_000,
      jitter: true,
    });
    assert.equal(job.latestExecutions[0].executionId, executionId);

    const execution = await read(`/v1/executions/${executionId}`);
    assert.deepEqual([execution.state, execution.attempt, execution.trigger], ["PENDING", 0, "API"]);
    assert.equal(execution.scheduledAt, execution.createdAt);
  });

  it("puts jobs without a concurrency key into shards of its own node, and says so by their ids", async () => {
    const own = [{ shard: 3, epoch: 1 }];
    const owns = (shards: typeof own) =>
      api.bus.send({ node: api.bus.node, role: "api" }, { kind: "OWNER", term: 1, shards });
    owns(own);
    const target = { handler: "echo" };
    const answers = [await submit({ target }), await submit({ target, priority: "HIGH" })].map((answer) =>
      answer.json(),
    );
    const batch = await submit({ jobs: Array.from({ length: 150 }, () => ({ target })) }, {}, "/v1/jobs/batch");
    const headers = JSON_TYPE;
    const put = await api.inject({ method: "PUT", url: "/v1/jobs/by-name/steered", headers, payload: { target } });
    owns([]);
    const jobs = [...answers, ...batch.json().items, put.json()];
    assert.equal(jobs.length, 153);
    assert.deepEqual([...new Set(jobs.map(({ jobId }) => shardOf(jobId)))], [3]);
    assert.deepEqual(
      jobs.map(({ executionId }) => executionId),
      jobs.map(({ jobId }) => firstExecutionId(jobId)),
    );
    assert.equal((await read(`/v1/executions/${jobs[0].executionId}`)).jobId, jobs[0].jobId);
  });

  it("keeps a payload byte for byte, also what JavaScript cannot hold", async () => {
    for (const payload of [
      "1e400000",
      "12345678901234567890",
      '{"b":1,"2":2,"1":1,"b":3}',
      '"\\ud800\\u0000"',
      "[ 1 ]",
    ]) {
      const { executionId } = (await submit(`{"target":{"handler":"echo"},"payload":${payload}}`)).json();
      const { body } = await api.app.inject({ method: "GET", url: `/v1/executions/${executionId}` });
      assert.ok(body.includes(`"payload":${payload},"result":null`), body);
    }
  });

  it("runs what was to run in the past now, and remembers what is to run later", async () => {
    const past = (await submit({ target: { handler: "echo" }, runAt: "2001-01-01T00:00:00+02:00" })).json();
    assert.equal(past.nextFireAt, null);
    const execution = await read(`/v1/executions/${past.executionId}`);
    assert.equal(execution.scheduledAt, execution.createdAt);

    const later = (await submit({ target: { handler: "echo" }, runAt: "2090-01-01T02:00:00+02:00" })).json();
    assert.equal(later.nextFireAt, "2090-01-01T00:00:00.000Z");
    assert.equal((await read(`/v1/jobs/${later.jobId}`)).nextFireAt, "2090-01-01T00:00:00.000Z");
  });

  it("answers a repeat with the same key as it answered the first, and refuses another body under that key", async () => {
    const job = { target: { handler: "echo" }, delayMs: 60_000 };
    const first = await submit(job, { "idempotency-key": "order-1" });
    const again = await submit(job, { "idempotency-key": "order-1" });
    assert.equal(again.statusCode, 201);
    assert.equal(again.body, first.body);
    assert.deepEqual([first.headers["idempotent-replayed"], again.headers["idempotent-replayed"]], [undefined, "true"]);

    const other = await submit({ ...job, delayMs: 1 }, { "idempotency-key": "order-1" });
    assert.equal(other.statusCode, 422);
    assert.equal(other.json().type, "/problems/idempotency-key-reused");
  });

  it("gives the ids that hold a unique key instead of a second job", async () => {
    const first = (await submit({ target: { handler: "echo" }, uniqueKey: "invoice-7" })).json();
    const second = await submit({ target: { handler: "echo" }, uniqueKey: "invoice-7" });
    assert.equal(second.statusCode, 200);
    const { jobId, executionId } = first;
    assert.deepEqual(second.json(), { jobId, state: "ACTIVE", executionId, deduplicated: true });
  });

  it("takes the good jobs of a batch and says what is wrong with the bad ones", async () => {
    const jobs = [
      { target: { handler: "echo" }, payload: 1 },
      { target: {} },
      "not a job",
      { target: { handler: "echo" }, runAt: "2090-01-01T00:00:00Z", delayMs: 5 },
      { target: { handler: "echo" }, payload: 2 },
    ];
    const answer = await submit({ jobs }, {}, "/v1/jobs/batch");
    assert.equal(answer.statusCode, 200, answer.body);
    const { items } = answer.json();
    assert.deepEqual(
      items.map(({ index, error }: { index?: number; error?: { errors: { field: string }[] } }) => [
        index,
        error?.errors.map(({ field }) => field),
      ]),
      [
        [undefined, undefined],
        [1, ["target.handler"]],
        [2, [""]],
        [3, ["delayMs"]],
        [undefined, undefined],
      ],
    );
    const payloads = await Promise.all(
      [items[0], items[4]].map(async ({ executionId }) => (await read(`/v1/executions/${executionId}`)).payload),
    );
    assert.deepEqual(payloads, [1, 2]);
  });

  it("answers a batch of bad jobs with the first faults, and no more", async () => {
    const bad = Array.from({ length: 10_000 }, () => ({ x: 1 }));
    const all = await submit({ jobs: bad }, {}, "/v1/jobs/batch");
    assert.equal(all.statusCode, 400);
    assert.ok(all.body.length < 4_096, `${all.body.length} bytes`);
    const { detail, errors } = all.json();
    assert.match(detail, /^none of the 10000 jobs can be taken; jobs\[0\]\.target: is missing$/);
    assert.equal(errors.length, 8);
    assert.deepEqual(
      errors.slice(0, 3).map(({ field }: { field: string }) => field),
      ["jobs[0].target", "jobs[0].x", "jobs[1].target"],
    );
    const mixed = await submit(
      { jobs: [...bad, ...bad.slice(1), { target: { handler: "echo" } }].slice(-10_000) },
      {},
      "/v1/jobs/batch",
    );
    const { items } = mixed.json();
    assert.equal(mixed.statusCode, 200);
    assert.deepEqual(Object.keys(items[5_000].error), ["type", "title", "status"]);
    assert.equal(items[0].error.errors.length, 2);
    assert.ok(mixed.body.length / items.length < 150, `${mixed.body.length} bytes`);
    assert.ok(items[9_999].executionId);
  });

  it("judges a job that is too large beside its payload by its size and its head", async () => {
    const answer = await submit({ strange: 1, target: { handler: "echo" }, name: "x".repeat(200_000) });
    assert.equal(answer.statusCode, 400);
    assert.deepEqual(
      answer.json().errors.map(({ field }: { field: string }) => field),
      ["", "strange", "name"],
    );
  });

  it("repeats a batch under its key as a whole", async () => {
    const batch = {
      jobs: [{ target: { handler: "echo" } }, { target: { handler: "" } }, { target: { handler: "sleep" } }],
    };
    const first = await submit(batch, { "idempotency-key": "batch-1" }, "/v1/jobs/batch");
    const again = await submit(batch, { "idempotency-key": "batch-1" }, "/v1/jobs/batch");
    assert.equal(again.body, first.body);
    assert.equal(again.headers["idempotent-replayed"], "true");
  });

  it("takes each job of a batch by its own key, as if it had been submitted alone", async () => {
    const [one, two] = [
      { target: { handler: "echo" }, payload: 1 },
      { target: { handler: "echo" }, payload: [2] },
    ];
    const batch = (jobs: unknown[], idempotencyKeys: unknown[]) =>
      submit({ jobs, idempotencyKeys }, {}, "/v1/jobs/batch").then((answer) => answer.json());
    const alone = (await submit(one, { "idempotency-key": "own-1" })).json();
    const { items } = await batch([one, two, one, { target: {} }], ["own-1", "own-2", null, "own-3"]);
    assert.deepEqual(items[0], alone, "a repeat in a batch is answered as the single submit was");
    assert.equal(new Set(items.slice(0, 3).map(({ jobId }: { jobId: string }) => jobId)).size, 3);
    assert.equal(items[3].error.errors[0].field, "target.handler");
    const again = await submit(two, { "idempotency-key": "own-2" });
    assert.deepEqual(again.json(), items[1], "a single repeat is answered as the batch was");
    assert.equal(again.headers["idempotent-replayed"], "true");
    const reused = await batch([two, one], ["own-1", "own-4"]);
    assert.equal(reused.items[0].error.status, 422);
    assert.ok(reused.items[1].jobId, "the key of one job stops no other");
    const all = await batch([two, one], ["own-1", "own-2"]);
    assert.deepEqual(
      all.items.map(({ error }: { error: { status: number } }) => error.status),
      [422, 422],
    );
  });

  it("says what is wrong with the keys of a batch's jobs", async () => {
    const jobs = [{ target: { handler: "echo" } }];
    const wrong = async (idempotencyKeys: unknown, headers: Record<string, string> = {}) => {
      const answer = await submit({ jobs, idempotencyKeys }, headers, "/v1/jobs/batch");
      assert.equal(answer.statusCode, 400, answer.body);
      return answer.json().detail;
    };
    assert.match(await wrong(["a", "b"]), /must have one item for each of the 1 jobs \(null: no key\), not 2/);
    assert.match(await wrong(["a"], { "idempotency-key": "whole" }), /must be left out where the header/);
    assert.match(await wrong(["ä"]), /idempotencyKeys/);
    assert.match(await wrong("a"), /idempotencyKeys/);
    assert.match(await wrong(Array.from({ length: 1_001 }, String)), /idempotencyKeys/);
  });

  it("takes a batch of 10,000 and no more", async () => {
    const jobs = Array.from({ length: 10_000 }, () => ({ target: { handler: "echo" } }));
    const answer = await submit({ jobs }, {}, "/v1/jobs/batch");
    assert.equal(new Set(answer.json().items.map(({ jobId }: { jobId: string }) => jobId)).size, 10_000);
    const tooMany = await submit({ jobs: [...jobs, jobs[0]] }, {}, "/v1/jobs/batch");
    assert.equal(tooMany.statusCode, 400);
    assert.equal(tooMany.json().errors[0].field, "jobs");
  });

  it("tells the owner about what it wrote, once, and nothing about repeats", async () => {
    const hints: Extract<ToScheduler, { kind: "HINT" }>[] = [];
    const end = playOwner(api.bus, (message) => message.kind === "HINT" && hints.push(message));
    const job = { target: { handler: "echo" }, payload: { a: 1 }, priority: "HIGH" };
    const { executionId } = (await submit(job, { "idempotency-key": "hint-1" })).json();
    await submit(job, { "idempotency-key": "hint-1" });
    await submit({ target: { handler: "echo" }, payload: "x".repeat(5_000) });
    end();
    const rows = hints.flatMap((hint) => hint.rows);
    assert.deepEqual(
      rows.map(({ row, payload }) => [
        row.priority,
        row.queue,
        payload === null ? null : Buffer.from(payload).toString(),
      ]),
      [
        [7, "READY", '{"a":1}'],
        [5, "READY", null],
      ],
    );
    assert.equal(rows[0]?.row.id, executionId);
    // The owner's hint contains the same row as the store.
    assert.deepEqual(await api.store.load([executionId]), [rows[0]?.row]);
  });

  it("says which field is wrong and what would be right", async () => {
    const cases: [unknown, string, RegExp][] = [
      [{}, "target", /is missing/],
      [
        { target: { handler: "echo", queue: "x" } },
        "target.queue",
        /is no field here: the fields are handler, pool, requires/,
      ],
      [{ target: { handler: "echo" }, cron: "* * * * *" }, "cron", /is no field here: the fields are .*schedule/],
      [{ target: { handler: "echo" }, type: "CRON" }, "schedule", /is missing: a job of type CRON has it/],
      [{ target: { handler: "echo" }, priority: 10 }, "priority", /integer from 0 to 9, or LOW/],
      [{ target: { handler: "echo" }, runAt: "2030-01-01T00:00:00" }, "runAt", /has no zone/],
      [{ target: { handler: "echo" }, runAt: "2030-02-30T00:00:00Z" }, "runAt", /does not exist/],
      [{ target: { handler: "echo" }, delayMs: -1 }, "delayMs", /at least 0/],
      [{ target: { handler: "echo" }, delayMs: "5" }, "delayMs", /must be an integer, not a string/],
      [{ target: { handler: "echo" }, concurrencyLimit: 2 }, "concurrencyLimit", /needs concurrencyKey/],
      [{ target: { handler: "echo" }, labels: { "a b": "x" } }, "labels.a b", /may not be called so/],
      [{ target: { handler: "echo" }, uniqueKey: "a\u0000" }, "uniqueKey", /other characters/],
      [{ target: { handler: "echo", requires: ["ok", ""] } }, "target.requires[1]", /other characters/],
    ];
    for (const [body, field, message] of cases) {
      const answer = await submit(body);
      assert.equal(answer.statusCode, 400, JSON.stringify(body));
      const errors: { field: string; message: string }[] = answer.json().errors;
      assert.deepEqual(
        errors.map((error) => error.field),
        [field],
        answer.body,
      );
      assert.match(errors[0]?.message ?? "", message);
    }
  });

  it("names fields that it does not know, however many there are", async () => {
    const strange = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, 0]));
    for (const body of [
      { target: { handler: "echo" }, ...strange },
      { target: { handler: "echo", ...strange } },
      { target: { handler: "echo" }, labels: Object.fromEntries(Object.keys(strange).map((key) => [`${key} `, ""])) },
    ]) {
      const answer = await submit(body);
      assert.equal(answer.statusCode, 400);
      const errors: { field: string; message: string }[] = answer.json().errors;
      assert.equal(errors.length, 8);
      for (const { field, message } of errors) {
        assert.match(field, /^(target\.|labels\.)?k\d+ ?$/);
        assert.match(message, /is no field here: the fields are|may not be called so/);
      }
    }
  });

  it("treats __proto__ as the unknown field that it is, and lets payloads have it", async () => {
    const refused = await submit('{"target":{"handler":"echo"},"__proto__":{"priority":9}}');
    assert.equal(refused.statusCode, 400);
    assert.equal(refused.json().errors[0].field, "__proto__");
    const payload = '{"__proto__":{"polluted":true},"constructor":{"prototype":{}}}';
    const { executionId } = (await submit(`{"target":{"handler":"echo"},"payload":${payload}}`)).json();
    const { body } = await api.app.inject({ method: "GET", url: `/v1/executions/${executionId}` });
    assert.ok(body.includes(payload));
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  });

  it("takes words that mean something to JavaScript as the words that they are", async () => {
    for (const word of ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"]) {
      const job = {
        target: { pool: word, handler: word, requires: [word] },
        name: word,
        uniqueKey: word,
        concurrencyKey: word,
        labels: word.startsWith("_") ? {} : { [word]: word },
      };
      const answer = await submit(job, { "idempotency-key": word });
      assert.equal(answer.statusCode, 201, answer.body);
      assert.equal((await submit(job, { "idempotency-key": word })).headers["idempotent-replayed"], "true");
      const { items } = await read(`/v1/jobs?pool=${word}&handler=${word}&name=${word}`);
      assert.equal(items.length, 1);
      const { target, labels } = await read(`/v1/jobs/${items[0].jobId}`);
      assert.deepEqual([target, labels], [job.target, job.labels]);
      const unknown = await api.inject({ method: "GET", url: `/v1/jobs?${word}=1` });
      assert.equal(unknown.statusCode, 400);
      assert.equal(unknown.json().errors[0].field, word);
    }
  });

  it("refuses what is not JSON, or of another type, or too deep", async () => {
    const cases: [string, Record<string, string>, number][] = [
      ['{"target":', {}, 400],
      ["", {}, 400],
      ["\u{feff}{}", {}, 400],
      [`{"target":{"handler":"echo"},"payload":${"[".repeat(200)}${"]".repeat(200)}}`, {}, 400],
      ["{}", { "content-type": "text/plain" }, 415],
    ];
    for (const [body, headers, status] of cases) {
      const answer = await submit(body, headers);
      assert.equal(answer.statusCode, status, answer.body);
      assert.match(String(answer.headers["content-type"]), /^application\/problem\+json/);
    }
    const latin1 = Buffer.from('{"target":{"handler":"echo"},"payload":"\xe9"}', "latin1");
    const answer = await api.inject({ method: "POST", url: "/v1/jobs", headers: JSON_TYPE, payload: latin1 });
    assert.equal(answer.statusCode, 400);
    assert.match(answer.json().detail, /UTF-8/);
  });

  it("takes a payload of 1 MiB and refuses a byte more", async () => {
    const most = `"${"x".repeat(1024 * 1024 - 2)}"`;
    assert.equal((await submit(`{"target":{"handler":"echo"},"payload":${most}}`)).statusCode, 201);
    const more = await submit(`{"target":{"handler":"echo"},"payload":${most.replace('"', '"x')}}`);
    assert.equal(more.statusCode, 413);
    assert.equal(more.json().errors[0].field, "payload");
  });

  it("refuses an idempotency key that is none", async () => {
    for (const key of ["", "a b", "x".repeat(256)]) {
      const answer = await submit({ target: { handler: "echo" } }, { "idempotency-key": key });
      assert.equal(answer.statusCode, 400);
      assert.equal(answer.json().errors[0].field, "idempotency-key");
    }
  });
});
