import assert from "node:assert/strict";
import { it } from "node:test";
import type { StepWrite } from "../store.ts";
import { fenced, type Scene, takeShards } from "./store-scene.conformance.ts";

const DATA = Buffer.from(String.raw`{"nul":"\u0000","big":1e400000}`);

/** A record whose fields all differ from the usual values. */
function record(executionId: string, fields: Partial<StepWrite> = {}): StepWrite {
  return { executionId, name: "charge ä", kind: "RESULT", attempt: 3, number: 7, at: 1_234_567, data: DATA, ...fields };
}

export function stepsConformance(scene: () => Scene): void {
  const read = async (id: string) => {
    const steps = (await scene().store.steps.read([id])).get(id) ?? [];
    return steps.map((step) => ({ ...step, data: step.data === null ? null : Buffer.from(step.data) }));
  };
  const written = ({ name, kind, attempt, number, at, data }: StepWrite) => ({ name, kind, attempt, number, at, data });

  it("keeps every field of a record, in the order in which records were made", async () => {
    const job = await scene().submitted();
    const first = record(job.executionId, { name: "z", attempt: 1, number: 2, data: null });
    const second = record(job.executionId);
    const third = record(job.executionId, { name: "", kind: "CHECKPOINT", attempt: 3, number: 8 });
    await scene().applied(job.shard, { steps: [third, second, first] });
    assert.deepEqual(await read(job.executionId), [first, second, third].map(written));
    const other = await scene().submitted();
    assert.deepEqual(
      [...(await scene().store.steps.read([other.executionId, job.executionId])).keys()],
      [job.executionId],
    );
  });

  it("keeps the first record of a step, and the newest checkpoint, whichever comes last", async () => {
    const job = await scene().submitted();
    const step = record(job.executionId);
    const checkpoint = record(job.executionId, { name: "", kind: "CHECKPOINT", number: 9 });
    await scene().applied(job.shard, { steps: [step, checkpoint] });
    const again = { ...step, attempt: 4, data: null };
    const older = { ...checkpoint, number: 8, data: null };
    await scene().applied(job.shard, { steps: [again, older] });
    assert.deepEqual(await read(job.executionId), [step, checkpoint].map(written));
    const newer = { ...checkpoint, attempt: 4, number: 1, data: null };
    await scene().applied(job.shard, { steps: [newer] });
    assert.deepEqual(await read(job.executionId), [step, newer].map(written));
  });

  it("marks the row that the commit changes, and keeps the mark", async () => {
    const job = await scene().submitted();
    const beside = await scene().submitted({ shard: job.shard });
    const changes = [scene().running(job, { steps: "RECORDED" }), scene().running(beside)];
    await scene().applied(job.shard, { changes, steps: [record(job.executionId)] });
    const marks = async () => {
      const rows = await scene().store.load([job.executionId, beside.executionId]);
      return new Map(rows.map(({ id, steps }) => [id, steps]));
    };
    const marked = new Map([
      [job.executionId, "RECORDED"],
      [beside.executionId, undefined],
    ]);
    assert.deepEqual(await marks(), marked);
    const { inFlight } = await scene().store.recover([job.shard]);
    assert.deepEqual(new Map(inFlight.map(({ row }) => [row.id, row.steps])), marked);
    const waits = { wasState: "RUNNING", wasAttempt: 1, state: "PENDING", queue: "READY", finishedAt: null } as const;
    await scene().applied(job.shard, { changes: [scene().succeeded(job, waits)] });
    assert.equal((await marks()).get(job.executionId), "RECORDED");
  });

  it("writes records beside a new definition of the job", async () => {
    const job = await scene().submitted();
    const { definition, laneHash } = job;
    const replacement = { jobVersion: 2, definition, laneHash, payloadBytes: 0 };
    const changes = [scene().running(job, { replacement, steps: "RECORDED" })];
    await scene().applied(job.shard, { changes, steps: [record(job.executionId)] });
    assert.deepEqual(await read(job.executionId), [written(record(job.executionId))]);
    const [row] = await scene().store.load([job.executionId]);
    assert.deepEqual([row?.steps, row?.jobVersion], ["RECORDED", 2]);
  });

  it("writes nothing under an epoch that is not current", async () => {
    const job = await scene().submitted();
    const tick = scene().tick(job.shard, { steps: [record(job.executionId)] });
    await takeShards(scene().store, [job.shard], scene().runtime.uuid());
    assert.deepEqual(await scene().store.commit([tick]), [fenced(job.shard)]);
    assert.deepEqual(await read(job.executionId), []);
  });

  it("forgets records with their execution", async () => {
    const job = await scene().submitted();
    const stays = await scene().submitted({ shard: job.shard });
    const changes = [scene().succeeded(job, { steps: "RECORDED" }), scene().running(stays)];
    await scene().applied(job.shard, { changes, steps: [record(job.executionId), record(stays.executionId)] });
    const day = 86_400_000;
    await scene().store.maintain(scene().runtime.now() + 10 * day, { days: 5, deadDays: 5 });
    assert.deepEqual(await read(job.executionId), []);
    assert.deepEqual(await read(stays.executionId), [written(record(stays.executionId))]);
  });
}
