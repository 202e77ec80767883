import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { systemRuntime } from "../../adapters/system/system-runtime.ts";
import type { CommandOutcome, ToScheduler } from "../../ports/messages.ts";
import { passInstants, playOwner, startTestApi, type TestApi } from "../api.fixture.ts";

const DAY_MS = 86_400_000;
const nightly = { target: { handler: "echo" }, schedule: "0 3 * * *", timezone: "Europe/Berlin" };
/** The example of the design. */
const invoices = {
  ...{ name: "daily-invoice-gen", type: "CRON", schedule: "0 3 * * *", timezone: "America/Los_Angeles" },
  target: { pool: "batch-etl", handler: "generate_invoices", requires: ["region=us"] },
  payload: { range: "yesterday" },
  retryPolicy: { maxAttempts: 3, backoff: "EXPONENTIAL", initialDelayMs: 30000, maxDelayMs: 3600000, jitter: true },
  ...{ timeoutSec: 600, priority: "NORMAL", overlap: "SKIP", misfire: "FIRE_ONCE" },
  dst: { gap: "SHIFT", fold: "FIRST" },
  ...{ concurrencyKey: "acme", concurrencyLimit: 1, uniqueKey: "invoices:acme", labels: { team: "billing" } },
};

describe("recurring jobs over HTTP", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.stop());

  const post = async (path: string, payload?: object, headers: Record<string, string> = {}) => {
    const answer = await api.inject({ method: "POST", url: `/v1/jobs${path}`, ...(payload && { payload }), headers });
    return { status: answer.statusCode, body: answer.json() };
  };
  const get = async (path: string) => {
    const answer = await api.inject({ method: "GET", url: `/v1/jobs${path}` });
    return { status: answer.statusCode, body: answer.json(), etag: answer.headers.etag };
  };
  const put = async (path: string, payload: object, headers: Record<string, string> = {}) => {
    const answer = await api.inject({ method: "PUT", url: `/v1/jobs/${path}`, payload, headers });
    return { status: answer.statusCode, body: answer.json() };
  };
  const submit = async (job: object = {}): Promise<string> => (await post("", { ...nightly, ...job })).body.jobId;
  const beforeCreation = async (jobId: string, ms: number) =>
    new Date(Date.parse((await get(`/${jobId}`)).body.createdAt) - ms).toISOString();
  /** An owner that answers every command with this outcome. */
  const owner = (outcome: CommandOutcome) => {
    const heard: ToScheduler[] = [];
    const end = playOwner(api.bus, (message, node) => {
      heard.push(message);
      if (message.kind !== "COMMAND") return;
      api.bus.send({ node, role: "api" }, { kind: "COMMAND_DONE", commandId: message.command.id, outcome });
    });
    return { heard, end };
  };

  it("are taken with EST in this release, with a warning in each answer about the job", async () => {
    const eastern = { ...nightly, timezone: "EST" };
    const submitted = await post("", eastern);
    assert.equal(submitted.status, 201);
    assert.match(submitted.body.warnings[0], /next release refuses it: give America\/New_York/);
    const batch = await post("/batch", { jobs: [eastern, nightly] });
    assert.deepEqual(
      batch.body.items.map(({ warnings }: { warnings?: string[] }) => warnings?.length),
      [1, undefined],
    );
    const named = await put("by-name/eastern", { ...nightly, timezone: "hst" });
    assert.equal(named.status, 201);
    assert.match(named.body.warnings[0], /give Pacific\/Honolulu/);
    assert.equal((await put("by-name/zoned", nightly)).body.warnings, undefined);
  });

  it("takes the design's example as it stands, and reads it back", async () => {
    const { status, body } = await post("", invoices);
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual(Object.keys(body), ["jobId", "state", "nextFireAt"]);
    assert.match(body.jobId, /^[89a-f]/);
    const read = await get(`/${body.jobId}`);
    const { type, schedule, timezone, dst, overlap, misfireGraceSec, fires, catchUps, runAt } = read.body;
    assert.deepEqual([type, schedule, timezone], ["CRON", "0 3 * * *", "America/Los_Angeles"]);
    assert.deepEqual([dst, overlap, misfireGraceSec], [{ gap: "SHIFT", fold: "FIRST" }, "SKIP", 60]);
    assert.deepEqual([fires, catchUps, runAt], [0, [], undefined]);
    assert.deepEqual([read.body.nextFireAt, read.etag], [body.nextFireAt, '"1"']);
    assert.deepEqual(read.body.payload, { range: "yesterday" });
    assert.equal((await get("?type=CRON&name=daily-invoice-gen")).body.items[0].jobId, body.jobId);
    assert.equal((await get("?type=ONCE&name=daily-invoice-gen")).body.items.length, 0);
  });

  it("takes an interval, and tells the owner of what fires within seconds", async () => {
    const { heard, end } = owner("PLANNED");
    const soon = await post("", { target: { handler: "echo" }, everySec: 5 });
    await post("", { target: { handler: "echo" }, everySec: 60 });
    end();
    const told = heard.flatMap((message) => (message.kind === "PLANNED" ? message.jobId : []));
    assert.deepEqual(told, [soon.body.jobId]);
    const { body } = await get(`/${soon.body.jobId}`);
    assert.deepEqual(
      [body.type, body.everySec, body.everyMode, body.schedule],
      ["INTERVAL", 5, "FIXED_RATE", undefined],
    );
  });

  it("answers a repeat by key as it did the first time", async () => {
    const job = { ...nightly, spreadSec: 3_600 };
    const headers = { "idempotency-key": "recurring-1" };
    const [first, again] = [await post("", job, headers), await post("", job, headers)];
    assert.deepEqual(again, first);
  });

  it("keeps names apart, one by one and in a batch", async () => {
    const jobId = await submit({ name: "once-only" });
    const again = await post("", { ...nightly, name: "once-only" });
    assert.deepEqual([again.status, again.body.type], [409, "/problems/name-in-use"]);
    assert.match(again.body.detail, new RegExp(jobId));
    const jobs = [
      { ...nightly, name: "once-only" },
      { ...nightly, name: "another" },
      { ...nightly, schedule: "x" },
    ];
    const { status, body } = await post("/batch", { jobs });
    assert.equal(status, 200);
    const [held, taken, bad] = body.items;
    assert.deepEqual([held.index, held.error.type], [0, "/problems/name-in-use"]);
    assert.equal(taken.state, "ACTIVE");
    assert.deepEqual([bad.index, bad.error.errors[0].field], [2, "schedule"]);
  });

  it("refuses what does not fit, each with its field, its place, and what would be right", async () => {
    const wrong = await post("", { ...nightly, schedule: "0 24 * * *", timezone: "America/NewYork" });
    assert.equal(wrong.status, 400);
    const [cron, zone] = wrong.body.errors;
    assert.deepEqual([cron.field, cron.position], ["schedule", 3]);
    assert.match(zone.message, /is it America\/New_York\?/);
    const mixed = await post("", { ...nightly, runAt: "2030-01-01T00:00:00Z" });
    assert.deepEqual([mixed.status, mixed.body.errors[0].field], [400, "runAt"]);
    const ended = await post("", { ...nightly, endAt: "2020-01-01T00:00:00Z" });
    assert.match(ended.body.detail, /^endAt: leaves no fire between now and itself/);
    const unknown = await post("", { ...nightly, cron: "@daily" });
    assert.match(unknown.body.detail, /the fields are .*schedule/);
  });

  it("says the same at every start of a program, and changes only what is new", async () => {
    const first = await put("by-name/report", nightly);
    assert.deepEqual([first.status, first.body.execution, first.body.executionId], [201, "CREATED", null]);
    const same = await put("by-name/report", nightly);
    assert.deepEqual([same.status, same.body.changed, same.body.nextFireAt], [200, false, first.body.nextFireAt]);
    const { heard, end } = owner("PLANNED");
    const edited = await put("by-name/report", { ...nightly, schedule: "0 4 * * *" });
    end();
    assert.deepEqual([edited.status, edited.body.version, edited.body.execution], [200, 2, "REPLACED"]);
    assert.equal(edited.body.jobId, first.body.jobId);
    const [look] = heard;
    assert.ok(look?.kind === "COMMAND" && look.command.kind === "PLAN");
    assert.equal(look.command.order.kind, "LOOK");
    // While its owner is away, the answer says that the job fires, but not when.
    const asked = await put("by-name/report", { ...nightly, schedule: "0 5 * * *" });
    assert.deepEqual([asked.status, asked.body.execution, asked.body.nextFireAt], [202, "REQUESTED", null]);
  });

  it("keeps what recurs recurring, and one that runs once running once", async () => {
    const jobId = await submit();
    const once = await put(jobId, { target: { handler: "echo" } });
    assert.deepEqual([once.status, once.body.type], [409, "/problems/wrong-state"]);
    const later = { target: { handler: "echo" }, delayMs: DAY_MS };
    const { body } = await post("", later);
    assert.equal((await put(body.jobId, nightly)).status, 409);
    assert.equal((await put(jobId, { ...nightly, everySec: 5 })).status, 400);
    const stale = await put(jobId, nightly, { "if-match": '"7"' });
    assert.equal(stale.status, 412);
    for (const verb of ["pause", "resume", "trigger"]) {
      const refused = await post(`/${body.jobId}/${verb}`);
      assert.deepEqual([refused.status, refused.body.type], [409, "/problems/wrong-state"], verb);
    }
    assert.equal((await get(`/${body.jobId}/ledger`)).status, 409);
    assert.equal((await get(`/${body.jobId}/next-fires`)).status, 409);
  });

  it("takes a request without a body, and refuses one whose body is no object", async () => {
    const url = `/v1/jobs/${await submit()}/resume`;
    const resume = (payload?: string) =>
      api.inject({ method: "POST", url, headers: { "content-type": "application/json" }, ...(payload && { payload }) });
    for (const payload of ["null", "[]", "1"]) assert.equal((await resume(payload)).statusCode, 400);
    assert.equal((await resume()).statusCode, 202);
  });

  it("asks the owner to pause, resume and make up for the past", async () => {
    const jobId = await submit();
    const since = await beforeCreation(jobId, 3 * DAY_MS);
    const asked = await post(`/${jobId}/pause`);
    assert.equal(asked.status, 202);
    const { heard, end } = owner("PLANNED");
    assert.equal((await post(`/${jobId}/pause`, {})).status, 200);
    assert.equal((await post(`/${jobId}/resume`)).status, 200);
    assert.equal((await post(`/${jobId}/resume`, { catchUp: true })).status, 200);
    const filled = await post(`/${jobId}/backfill`, { since, maxRunning: 2 });
    end();
    assert.deepEqual([filled.status, filled.body.backfill.planned, filled.body.backfill.maxRunning], [200, 3, 2]);
    const orders = heard.map(
      (message) => message.kind === "COMMAND" && message.command.kind === "PLAN" && message.command.order,
    );
    assert.deepEqual(
      orders.map(
        (order) => order && [order.kind, "catchUp" in order ? order.catchUp : "limit" in order ? order.limit : null],
      ),
      [
        ["PAUSE", null],
        ["RESUME", false],
        ["RESUME", true],
        ["BACKFILL", 2],
      ],
    );
  });

  it("refuses a backfill while another is open, of the future, of too much, and of what plans nothing", async () => {
    const jobId = await submit();
    const since = await beforeCreation(jobId, DAY_MS);
    const { end } = owner("BACKFILL_OPEN");
    const open = await post(`/${jobId}/backfill`, { since });
    end();
    assert.deepEqual([open.status, open.body.type], [409, "/problems/backfill-open"]);
    const future = await post(`/${jobId}/backfill`, { since, until: "2999-01-01T00:00:00Z" });
    assert.deepEqual([future.status, future.body.errors[0].field], [400, "until"]);
    const much = await submit({ schedule: "* * * * * *" });
    const refused = await post(`/${much}/backfill`, { since });
    assert.deepEqual([refused.status, refused.body.errors[0].field], [400, "since"]);
    const delay = (await post("", { target: { handler: "echo" }, everySec: 5, everyMode: "FIXED_DELAY" })).body.jobId;
    assert.equal((await post(`/${delay}/backfill`, { since })).status, 409);
  });

  it("takes a backfill of 10,000 planned instants, and none of more", async () => {
    const MINUTE_MS = 60_000;
    const jobId = await submit({ schedule: "* * * * *" });
    const last = Math.floor(systemRuntime().now() / MINUTE_MS) * MINUTE_MS;
    const range = (count: number) => ({
      since: new Date(last - count * MINUTE_MS).toISOString(),
      until: new Date(last).toISOString(),
    });
    const { end } = owner("PLANNED");
    const most = await post(`/${jobId}/backfill`, range(10_000));
    end();
    assert.deepEqual([most.status, most.body.backfill.planned], [200, 10_000]);
    for (const count of [10_001, 10_200, 20_000]) {
      const { status, body } = await post(`/${jobId}/backfill`, range(count));
      assert.equal(status, 400);
      assert.match(body.errors[0].message, /a backfill takes 10000 planned instants at most/);
    }
  });

  it("runs it now when it is triggered, with the trigger MANUAL", async () => {
    const jobId = await submit({ payload: { a: 1 } });
    const { status, body } = await post(`/${jobId}/trigger`);
    assert.deepEqual([status, body.jobId], [201, jobId]);
    const read = await api.inject({ method: "GET", url: `/v1/executions/${body.executionId}` });
    const { trigger, state, payload } = read.json();
    assert.deepEqual([trigger, state, payload], ["MANUAL", "PENDING", { a: 1 }]);
    assert.equal((await get(`/${jobId}`)).body.latestExecutions[0].executionId, body.executionId);
    // No ledger contains an instant that was not planned.
    assert.deepEqual((await get(`/${jobId}/ledger`)).body.items, []);
  });

  it("tells when it fires next, by the clocks of its zone", async () => {
    const jobId = await submit({ startAt: "2031-03-29T12:00:00Z", schedule: "30 2 * * *" });
    const { body } = await get(`/${jobId}/next-fires?count=2`);
    assert.equal(body.state, "ACTIVE");
    assert.match(body.words, /^at 02:30 every day in Europe\/\w+, not before 2031-03-29T12:00:00Z$/);
    assert.deepEqual(body.fires[0].local, "2031-03-30T03:00:00+02:00");
    assert.match(body.fires[0].note, /^moved/);
    assert.deepEqual(body.fires[1], { at: "2031-03-31T00:30:00.000Z", local: "2031-03-31T02:30:00+02:00" });
    assert.equal((await get(`/${jobId}/next-fires?count=0`)).status, 400);
  });

  it("is gone for all that may be asked of it once it is deleted", async () => {
    const jobId = await submit({ name: "short-lived" });
    const gone = await api.inject({ method: "DELETE", url: `/v1/jobs/${jobId}` });
    assert.ok([202, 204].includes(gone.statusCode));
    for (const verb of ["pause", "resume", "trigger"])
      assert.equal((await post(`/${jobId}/${verb}`)).status, 409, verb);
    assert.equal((await get(`/${jobId}`)).body.state, "DELETED");
    assert.deepEqual((await get(`/${jobId}/next-fires`)).body.fires, []);
    // The job's name is free again.
    await submit({ name: "short-lived" });
  });

  it("refuses ranges and cursors that are none", async () => {
    const jobId = await submit();
    const range = await get(`/${jobId}/ledger?since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z`);
    assert.deepEqual([range.status, range.body.errors[0].field], [400, "until"]);
    assert.equal((await get(`/${jobId}/ledger?since=yesterday`)).status, 400);
    assert.equal((await get(`/${jobId}/ledger?cursor=abc`)).body.type, "/problems/invalid-cursor");
    assert.equal((await get(`/019a0000-0000-7000-8000-000000000000/ledger`)).status, 404);
  });

  it("shows what nobody has accounted for as missed, beside what was skipped, page by page", async () => {
    const jobId = await submit({ schedule: "* * * * *" });
    const skipsFrom = (at: number) => [{ from: at, to: at, count: 1, reason: "OVERLAP" as const }];
    const first = await passInstants(api, jobId, 4 * 60_000, skipsFrom);
    const until = first + 4 * 60_000;
    const range = `until=${new Date(until + 60_000).toISOString()}`;
    const { body } = await get(`/${jobId}/ledger?${range}`);
    const [missed, skipped, ...more] = body.items;
    assert.deepEqual([missed.outcome, missed.count, missed.at], ["MISSED", 3, new Date(first + 60_000).toISOString()]);
    assert.deepEqual(
      [skipped.outcome, skipped.reason, skipped.at],
      ["SKIPPED", "OVERLAP", new Date(first).toISOString()],
    );
    assert.deepEqual([more, body.nextCursor, body.accountedUntil], [[], null, new Date(until).toISOString()]);
    const page = await get(`/${jobId}/ledger?${range}&limit=1`);
    assert.deepEqual(page.body.items, body.items);
  });
});

describe("a recurring job that has come to its end", () => {
  const HOUR_MS = 3_600_000;
  let nowMs = systemRuntime().now();
  let api: TestApi;
  before(async () => {
    api = await startTestApi(() => nowMs);
  });
  after(() => api.stop());

  const say = async (method: "POST" | "PUT", path: string, payload: object, headers: Record<string, string> = {}) => {
    const answer = await api.inject({ method, url: `/v1/jobs${path}`, payload, headers });
    return { status: answer.statusCode, body: answer.json(), replayed: answer.headers["idempotent-replayed"] };
  };
  const soon = () => ({
    ...{ target: { handler: "echo" }, everySec: 60 },
    endAt: new Date(nowMs + HOUR_MS).toISOString(),
  });

  it("is answered to a repeat by key as it was the first time, alone and in a batch", async () => {
    const [job, other] = [soon(), { target: { handler: "echo" } }];
    const headers = { "idempotency-key": "ends-soon" };
    const [first, batch] = [
      await say("POST", "", job, headers),
      await say("POST", "/batch", { jobs: [job, other] }, headers),
    ];
    assert.deepEqual([first.status, batch.body.type], [201, "/problems/idempotency-key-reused"]);
    const keyed = { "idempotency-key": "both-end-soon" };
    const both = await say("POST", "/batch", { jobs: [job, other] }, keyed);
    nowMs += 2 * HOUR_MS;
    assert.deepEqual(await say("POST", "", job, headers), { ...first, replayed: "true" });
    assert.deepEqual(await say("POST", "/batch", { jobs: [job, other] }, keyed), { ...both, replayed: "true" });
    const reused = await say("POST", "", { ...job, priority: "HIGH" }, headers);
    assert.deepEqual([reused.status, reused.body.type], [422, "/problems/idempotency-key-reused"]);
    const fresh = await say("POST", "", job, { "idempotency-key": "never-said" });
    assert.deepEqual([fresh.status, fresh.body.errors[0].field], [400, "endAt"]);
  });

  it("is unchanged for who says the same of it again, by name or id", async () => {
    const job = soon();
    const first = await say("PUT", "/by-name/ends", job);
    const path = `/${first.body.jobId}`;
    nowMs += 2 * HOUR_MS;
    const same = { status: 200, version: 1, execution: "UNCHANGED" };
    for (const [where, said] of [
      ["/by-name/ends", job],
      [path, { ...job, name: "ends" }],
    ] as const) {
      const { status, body } = await say("PUT", where, said);
      assert.deepEqual({ status, version: body.version, execution: body.execution }, same);
      const other = await say("PUT", where, { ...said, everySec: 7 });
      assert.deepEqual([other.status, other.body.errors[0].field], [400, "endAt"]);
    }
    const stale = await say("PUT", path, { ...job, name: "ends" }, { "if-match": '"2"' });
    assert.deepEqual([stale.status, stale.body.type], [412, "/problems/precondition-failed"]);
  });
});
