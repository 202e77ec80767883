import assert from "node:assert/strict";
import type { Epoch, ShardId } from "../../domain/ids.ts";
import { applied, fenced } from "../../ports/conformance/store-scene.conformance.ts";
import { type PlantedBug, plantedBugs } from "./testing/planted-bug.ts";

const BUGS: readonly PlantedBug[] = [
  {
    title: "a commit does not compare epochs",
    text: "if epoch_of(call('HGET', p .. 'sh', asked.shard)) == asked.epoch then",
    planted: "if true then",
    story: async (scene) => {
      const job = await scene.submitted();
      const stale = scene.tick(job.shard, { changes: [scene.succeeded(job)] });
      await scene.takeOver([job.shard]);
      assert.deepEqual(await scene.store.commit([stale]), [fenced(job.shard)]);
    },
  },
  {
    title: "a commit does not compare the attempt of a row",
    text: "return record and sub(record, 2, 6) == sub(fixed, 17, 21) and",
    planted: "return record and sub(record, 2, 2) == sub(fixed, 17, 17) and",
    story: async (scene) => {
      const job = await scene.submitted();
      const late = scene.succeeded(job, { wasAttempt: 3, attempt: 4 });
      const [outcome] = await scene.store.commit([scene.tick(job.shard, { changes: [late] })]);
      assert.deepEqual(outcome?.missed, [job.executionId]);
    },
  },
  {
    title: "epochs go through tostring",
    text: "return string.format('%.0f', number)",
    planted: "return tostring(number)",
    story: async (scene) => {
      const shard: ShardId = 3;
      const [seen] = (await scene.store.readShards()).slice(shard);
      const knownEpoch: Epoch = Number.MAX_SAFE_INTEGER - 3;
      const [epoch] = await scene.store.takeOver([{ shard, epoch: seen?.epoch ?? 0, knownEpoch }], "n");
      assert.equal(epoch, knownEpoch + 1);
    },
  },
  {
    title: "a row that has left a queue stays in its index",
    text: "enqueue(queues, row.id, row.before, -1)",
    planted: "",
    story: async (scene) => {
      const job = await scene.submitted();
      await scene.applied(job.shard, { changes: [scene.succeeded(job)] });
      assert.deepEqual(await scene.ready(job), []);
    },
  },
  {
    title: "a change frees a unique key that another execution holds",
    text: "if holder and sub(holder, 17, 32) == released[i + 1] then",
    planted: "if holder then",
    story: async (scene) => {
      const uniqueKey = "u1";
      const [first, second] = [await scene.submitted({ uniqueKey }), scene.job({ uniqueKey })];
      const retried = scene.succeeded(first, { state: "PENDING", queue: "READY", finishedAt: null });
      await scene.applied(first.shard, { changes: [{ ...retried, releaseUniqueKey: true }] });
      await scene.store.submit([{ idempotency: null, jobs: [second] }]);
      const again = { wasAttempt: 1, attempt: 2, releaseUniqueKey: true };
      await scene.applied(first.shard, { changes: [scene.succeeded(first, again)] });
      const [third] = await scene.store.submit([{ idempotency: null, jobs: [scene.job({ uniqueKey })] }]);
      assert.deepEqual(third?.kind === "ACCEPTED" && third.jobs[0]?.executionId, second.executionId);
    },
  },
  {
    title: "a submission writes the jobs before one that is refused",
    text: "if ids[job.id] or exists(p, known, job) then return nil, job.id end",
    planted: "if ids[job.id] or exists(p, known, job) then return table.concat(answer), fresh end",
    story: async (scene) => {
      const [there, fresh] = [await scene.submitted(), scene.job()];
      const [outcome] = await scene.store.submit([{ idempotency: null, jobs: [fresh, there] }]);
      assert.equal(outcome?.kind, "REFUSED");
      assert.deepEqual(await scene.store.load([fresh.executionId]), []);
    },
  },
  {
    title: "a journal entry outlives the commit that settles it",
    text: "call('HDEL', journals, ...)",
    planted: "",
    story: async (scene) => {
      const job = await scene.submitted();
      const { epoch, journalSeq: seq } = await scene.applied(job.shard, { assigned: [scene.entry(job)] });
      const settledJournals = [{ epoch, seq }];
      const tick = scene.tick(job.shard, { changes: [scene.succeeded(job)], settledJournals });
      assert.deepEqual(await scene.store.commit([tick]), [applied(job.shard)]);
      assert.deepEqual((await scene.store.recover([job.shard])).journals, []);
    },
  },
];

plantedBugs("planted bugs in the functions of the store on Redis", BUGS);
