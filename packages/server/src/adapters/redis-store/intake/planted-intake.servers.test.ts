import assert from "node:assert/strict";
import type { Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import type { NewJob, StepWrite, SubmitOutcome } from "../../../ports/store.ts";
import type { RequestEnd } from "../../../ports/store-requests.ts";
import { plantedBugs } from "../testing/planted-bug.ts";

const TOPIC = "0190e2a4-0000-4000-8000-000000000001";

function recordOf({ executionId }: NewJob, signalId?: string): StepWrite {
  const record = { executionId, name: "s", kind: "RESULT", attempt: 1, number: 1, at: 5, data: null } as const;
  return signalId === undefined ? record : { ...record, signalId };
}

async function signalled(scene: Scene, job: NewJob, id: string): Promise<void> {
  const { executionId, shard } = job;
  const command = { id: scene.runtime.uuid(), shard, executionId, kind: "SIGNAL" } as const;
  await scene.store.steps.addSignal(executionId, { id, name: "go", data: null, at: 1 }, command);
}

function conclude(outcome: SubmitOutcome): RequestEnd {
  const [job] = outcome.kind === "ACCEPTED" ? outcome.jobs : [];
  return job === undefined ? { state: "REFUSED", problem: "{}" } : { state: "TAKEN_IN", ...job };
}

plantedBugs("planted bugs in the functions for steps, signals and records of the log of requests", [
  {
    title: "a record of an execution is written without its change",
    text: "if not asked.left[step.id] and replaces(",
    planted: "if replaces(",
    story: async (scene) => {
      const job = await scene.submitted();
      const changes = [scene.succeeded(job, { wasAttempt: 7 })];
      await scene.store.commit([scene.tick(job.shard, { changes, steps: [recordOf(job)] })]);
      assert.equal((await scene.store.steps.read([job.executionId])).size, 0);
    },
  },
  {
    title: "a second record of a step replaces the first one",
    text: "if kind ~= CHECKPOINT then return false end",
    planted: "if kind ~= CHECKPOINT then return true end",
    story: async (scene) => {
      const job = await scene.submitted();
      for (const attempt of [1, 2]) await scene.applied(job.shard, { steps: [{ ...recordOf(job), attempt }] });
      const records = (await scene.store.steps.read([job.executionId])).get(job.executionId);
      assert.equal(records?.[0]?.attempt, 1);
    },
  },
  {
    title: "a signal that a step has consumed comes again",
    text: "call('HSET', p .. 'g' .. id, field, 'T' .. sub(known, 2, 27))",
    planted: "",
    story: async (scene) => {
      const job = await scene.submitted();
      await signalled(scene, job, "a");
      await scene.applied(job.shard, { steps: [recordOf(job, "a")] });
      assert.equal((await scene.store.steps.readSignals([job.executionId])).size, 0);
    },
  },
  {
    title: "upkeep removes the records that a further execution has kept",
    text: "keep_bodies(p, hashes)",
    planted: "",
    story: async (scene) => {
      const { jobs, steps, maintain } = scene.store;
      const job = await scene.submitted();
      const { jobId, shard } = job;
      await scene.applied(shard, { changes: [scene.succeeded(job, { state: "DEAD" })], steps: [recordOf(job)] });
      const again = { ...scene.job({ jobId, shard }), executionId: scene.runtime.uuid(), jobVersion: 1 };
      await jobs.run({ ...again, retryOf: job.executionId, keepsSteps: true });
      await maintain(scene.runtime.now() + 2 * 3_600_000, { days: 30, deadDays: 30 });
      assert.equal((await steps.read([again.executionId])).size, 1);
    },
  },
  {
    title: "records are taken in from another position",
    text: "return known and sub(known, 1, 24) == topic .. from and known",
    planted: "return known",
    story: async (scene) => {
      const { ingest } = scene.store;
      await ingest.open(TOPIC, [0]);
      const portion = () => {
        const job = scene.job();
        const decision = { idempotency: null, jobs: [job] };
        const records = [{ offset: 0, id: job.jobId, decision, timestamp: 5, contentType: null, value: null }];
        return { partition: 0, topic: TOPIC, from: 0, next: 1, records };
      };
      await ingest.takeIn(portion(), { conclude });
      assert.equal(await ingest.takeIn(portion(), { conclude }), null);
    },
  },
]);
