import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { firstExecutionId } from "../../domain/ids.ts";
import type { Submission, SubmitOutcome } from "../store.ts";
import { type DecidedRecord, type IngestPortion, REFUSED_VALUE_MAX } from "../store-ingest.ts";
import type { RequestEnd, TakenRequest } from "../store-requests.ts";
import { type JobSample, type Scene, TENANT } from "./store-scene.conformance.ts";

const DAY_MS = 86_400_000;
const TOPIC = "0190e2a4-0000-4000-8000-000000000001";
const OTHER = "0190e2a4-0000-4000-8000-000000000002";
const REFUSED = { state: "REFUSED" as const, problem: '{"title":"no"}' };

/** Positions in the log of requests, and what has become of its records. */
export function ingestConformance(scene: () => Scene): void {
  const store = () => scene().store.ingest;
  const conclude = (outcome: SubmitOutcome): RequestEnd => {
    if (outcome.kind !== "ACCEPTED") return { state: "REFUSED", problem: JSON.stringify({ title: outcome.kind }) };
    const [job] = outcome.jobs;
    assert.ok(job);
    const { jobId, executionId, deduplicated } = job;
    return { state: "TAKEN_IN", jobId, executionId, deduplicated };
  };
  const record = (offset: number, sample: JobSample = {}, key: string | null = null): DecidedRecord => {
    const job = scene().job(sample);
    const idempotency = key === null ? null : { tenant: TENANT, key, requestHash: "h" };
    const decision: Submission = { idempotency, jobs: [job] };
    return { offset, id: job.jobId, decision, timestamp: 5, contentType: "application/json", value: Buffer.from("{}") };
  };
  const refused = (offset: number, value: Uint8Array | null = Buffer.from("bad")): DecidedRecord => ({
    ...record(offset),
    decision: REFUSED,
    value,
  });
  const portion = (from: number, records: readonly DecidedRecord[], more: Partial<IngestPortion> = {}) => {
    const next = (records.at(-1)?.offset ?? from - 1) + 1;
    return { partition: 3, topic: TOPIC, from, next, records, ...more };
  };
  const takeIn = (asked: IngestPortion) => store().takeIn(asked, { conclude });
  const next = async (partition = 3) => (await store().positions()).find((one) => one.partition === partition)?.next;
  const has = async (id: string) => (await scene().store.queries.getJob(TENANT, id)) !== null;
  const stateOf = async (offset: number) => {
    const found = await store().get({ partition: 3, offset });
    return found === null ? null : (found.end?.state ?? "ACCEPTED");
  };
  const idsOf = (taken: TakenRequest[] | null) => taken?.map(({ id }) => id) ?? null;

  it("has a position of each opened partition, and keeps it for as long as the topic is the same", async () => {
    assert.deepEqual(await store().positions(), []);
    await store().open(TOPIC, [3, 0]);
    await takeIn(portion(0, [record(0)]));
    await store().open(TOPIC, [3, 5]);
    const known = (await store().positions()).map(({ partition, topic, next }) => [partition, topic, next]);
    assert.deepEqual(known, [
      [0, TOPIC, 0],
      [3, TOPIC, 1],
      [5, TOPIC, 0],
    ]);
    await store().open(OTHER, [3]);
    assert.equal(await next(), 0);
    assert.equal(await takeIn(portion(1, [record(1)])), null);
    assert.equal(await takeIn(portion(0, [record(0)])), null);
  });

  it("writes the jobs of records with the position behind them, and only from where the position is", async () => {
    await store().open(TOPIC, [3]);
    const records = [record(0), record(1), record(4)];
    assert.deepEqual(
      idsOf(await takeIn(portion(0, records))),
      records.map(({ id }) => id),
    );
    for (const { id } of records) assert.equal(await has(id), true);
    assert.equal(await next(), 5);
    const late = record(0);
    assert.equal(await takeIn(portion(0, [late])), null);
    assert.equal(await takeIn(portion(4, [{ ...late, offset: 4 }])), null);
    assert.equal(await takeIn(portion(6, [{ ...late, offset: 6 }])), null);
    assert.deepEqual([await has(late.id), await next()], [false, 5]);
    assert.deepEqual(await takeIn(portion(5, [], { next: 9 })), []);
    assert.equal(await next(), 9);
  });

  it("lets one of two callers take the same records in", async () => {
    await store().open(TOPIC, [3]);
    const records = Array.from({ length: 20 }, (_, offset) => record(offset));
    const again = records.map((one) => ({ ...one }));
    const answers = await Promise.all([takeIn(portion(0, records)), takeIn(portion(0, again))]);
    assert.deepEqual(answers.map((one) => one?.length ?? null).sort(), [20, null]);
  });

  it("knows what has become of each record", async () => {
    await store().open(TOPIC, [3]);
    const key = "once";
    const [plain, bad, first, repeat] = [record(0), refused(1), record(2, {}, key), record(3, {}, key)];
    const [unique, held] = [record(4, { uniqueKey: "one" }), record(5_000, { uniqueKey: "one" })];
    await takeIn(portion(0, [plain, bad, first, repeat, unique, held]));
    const end = async (offset: number) => (await store().get({ partition: 3, offset }))?.end;
    const taken = (id: string, deduplicated = false) => ({
      ...{ state: "TAKEN_IN", jobId: id, executionId: firstExecutionId(id), deduplicated },
    });
    assert.deepEqual(await end(0), taken(plain.id));
    assert.deepEqual(await end(1), REFUSED);
    assert.deepEqual([await end(2), await end(3)], [taken(first.id), taken(first.id)]);
    assert.deepEqual([await end(4), await end(5_000)], [taken(unique.id), taken(unique.id, true)]);
    assert.deepEqual([await stateOf(6), await stateOf(5_001), await stateOf(900_000)], [null, "ACCEPTED", "ACCEPTED"]);
    assert.equal(await store().get({ partition: 4, offset: 0 }), null);
    assert.ok(((await store().get({ partition: 3, offset: 0 }))?.createdAt ?? 0) > 0);
    assert.equal((await store().get({ partition: 3, offset: 1 }))?.createdAt, 5);
  });

  it("refuses only the job that the store cannot hold", async () => {
    await store().open(TOPIC, [3]);
    const records = [record(0), record(1, { uniqueKey: "no\0key" }), record(2)];
    const taken = await takeIn(portion(0, records));
    assert.deepEqual(
      taken?.map(({ end }) => end.state),
      ["TAKEN_IN", "REFUSED", "TAKEN_IN"],
    );
    assert.deepEqual(await Promise.all(records.map(({ id }) => has(id))), [true, false, true]);
  });

  it("takes a record whose job there is for taken in, and writes nothing of it", async () => {
    await store().open(TOPIC, [3, 4]);
    const first = record(0);
    await takeIn(portion(0, [first]));
    const copies = [first, { ...first, offset: 1 }, record(2)].map((one, offset) => ({ ...one, offset }));
    const taken = await takeIn(portion(0, copies, { partition: 4 }));
    assert.deepEqual(
      taken?.map(({ end }) => end.state),
      ["TAKEN_IN", "TAKEN_IN", "TAKEN_IN"],
    );
    const replayed = taken?.map(
      ({ submitted }) => submitted?.outcome.kind === "ACCEPTED" && submitted.outcome.replayed,
    );
    assert.deepEqual(replayed, [true, true, false]);
  });

  describe("after a position was set back", () => {
    const back = (from: number, to: number) => store().rewind({ partition: 3, topic: TOPIC, from, to });

    it("moves only from where it is, and not forward", async () => {
      await store().open(TOPIC, [3]);
      await takeIn(portion(0, [record(0), record(1)]));
      assert.deepEqual([await back(1, 0), await back(2, 3), await next()], [false, false, 2]);
      assert.deepEqual([await back(2, 1), await next()], [true, 1]);
    });

    it("writes nothing of records that were taken in, and decides refused ones anew", async () => {
      await store().open(TOPIC, [3]);
      const records = [record(0), refused(1), record(2, { uniqueKey: "one" }), record(3, { uniqueKey: "one" })];
      await takeIn(portion(0, records));
      await back(4, 0);
      const good = record(1);
      const again = [records[0], good, records[2], records[3], record(4)] as DecidedRecord[];
      const fresh = again[4] as DecidedRecord;
      assert.deepEqual(idsOf(await takeIn(portion(0, again))), [good.id, fresh.id]);
      assert.deepEqual([await has(good.id), await has(fresh.id), await next()], [true, true, 5]);
      assert.deepEqual([await stateOf(0), await stateOf(1), await stateOf(3)], ["TAKEN_IN", "TAKEN_IN", "TAKEN_IN"]);
    });

    it("takes in another record at the offset of one that is gone", async () => {
      await store().open(TOPIC, [3]);
      await takeIn(portion(0, [record(0), record(1)]));
      await back(2, 0);
      const other = record(1);
      assert.deepEqual(idsOf(await takeIn(portion(1, [other]))), null);
      assert.deepEqual(idsOf(await takeIn(portion(0, [other]))), [other.id]);
    });
  });

  it("keeps refusals until somebody was told of them", async () => {
    await store().open(TOPIC, [3, 4]);
    const large = new Uint8Array(REFUSED_VALUE_MAX + 1);
    await takeIn(portion(0, [refused(0), refused(1, large), refused(2, null), record(3)]));
    await takeIn(portion(0, [refused(0)], { partition: 4 }));
    const found = await store().untold([3], 10);
    const at = { topic: TOPIC, partition: 3, timestamp: 5, problem: REFUSED.problem, contentType: "application/json" };
    const values = found.map(({ value, ...rest }) => ({ ...rest, value: value === null ? null : String(value) }));
    assert.deepEqual(
      values.toSorted((a, b) => a.offset - b.offset),
      [
        { ...at, offset: 0, value: "bad", valueBytes: 3 },
        { ...at, offset: 1, value: null, valueBytes: large.length },
        { ...at, offset: 2, value: null, valueBytes: 0 },
      ],
    );
    assert.equal((await store().untold([3, 4], 2)).length, 2);
    await store().told(found);
    assert.deepEqual(
      (await store().untold([3, 4], 10)).map(({ partition }) => partition),
      [4],
    );
    assert.equal(await stateOf(0), "REFUSED");
  });

  it("lists refused records, the last refusal first, without those that a replay took in and those of a former topic", async () => {
    await store().open(TOPIC, [3, 4]);
    await takeIn(portion(0, [refused(0), record(1), refused(2)]));
    await takeIn(portion(0, [refused(0)], { partition: 4 }));
    const all = await store().refused(null, 10);
    assert.deepEqual(
      all.map(({ partition, offset, createdAt, problem }) => [partition, offset, createdAt, problem]).toSorted(),
      [
        [3, 0, 5, REFUSED.problem],
        [3, 2, 5, REFUSED.problem],
        [4, 0, 5, REFUSED.problem],
      ],
    );
    const [first, second, third] = all;
    assert.deepEqual(await store().refused(null, 1), [first]);
    assert.deepEqual(await store().refused(first ?? null, 10), [second, third]);
    await store().rewind({ partition: 3, topic: TOPIC, from: 3, to: 0 });
    await takeIn(portion(0, [record(0), record(1), refused(2)]));
    const left = (await store().refused(null, 10)).map(({ partition, offset }) => [partition, offset]);
    assert.deepEqual(left.toSorted(), [
      [3, 2],
      [4, 0],
    ]);
    await store().open(OTHER, [3]);
    assert.deepEqual(
      (await store().refused(null, 10)).map(({ partition }) => partition),
      [4],
    );
  });

  it("forgets records as long after they were decided as executions are kept", async () => {
    await store().open(TOPIC, [3]);
    await takeIn(portion(0, [record(0), refused(1)]));
    const at = scene().runtime.now();
    await scene().store.maintain(at + 30 * DAY_MS - 3_600_000, { days: 30, deadDays: 90 });
    assert.deepEqual([await stateOf(0), await stateOf(1)], ["TAKEN_IN", "REFUSED"]);
    await scene().store.maintain(at + 30 * DAY_MS + 3_600_000, { days: 30, deadDays: 90 });
    assert.deepEqual([await stateOf(0), await stateOf(1), await next()], [null, null, 2]);
  });
}
