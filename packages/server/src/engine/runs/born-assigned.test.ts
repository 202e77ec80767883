import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Candidate } from "../../domain/execution.ts";
import { defaultPool, type Pool } from "../../domain/pool.ts";
import type { Assignment } from "../../ports/messages.ts";
import { deadLetterRefused } from "../attempts/dead-letter-refused.ts";
import type { Batch } from "../batch.ts";
import type { Limits } from "../inputs.ts";
import { sealBatch } from "../machine.ts";
import { isStillWanted } from "../queue/sendable.ts";
import { RUN, Stage, states } from "../testing/run-stage.ts";
import { candidate, changesOf, GATEWAY, only, ordersOf, START, Story } from "../testing/story.ts";

/** Worker with one slot, which the test gives back when it wants to. */
const ONE = { slots: 1 };

interface Parts {
  /** Credits of the worker beyond that of the first node. */
  credits: number;
  graph: ConstructorParameters<typeof Stage>[0];
  limits?: Partial<Limits>;
}

/** A run whose node a is at a worker, which has room for further attempts. */
function running({ credits, graph, limits }: Parts = { credits: 5, graph: { a: [], b: ["a"] } }): {
  stage: Stage;
  a: Assignment;
} {
  const stage = new Stage(graph, "FAIL_FAST", null, undefined, undefined, new Story(limits).worker("w1", ONE)).hint(
    "a",
  );
  const a = only(stage.story.commit().assigns);
  stage.load({ a: "PENDING" });
  stage.story.credit("w1", credits);
  return { stage, a };
}

/** Ends an attempt without the credit for its slot. */
function ends(stage: Stage, { shard, executionId, attempt, workerId }: Assignment): void {
  const end = { state: "SUCCEEDED", startedAt: START, finishedAt: START, result: null, error: null } as const;
  const results = [{ shard, executionId, attempt, workerId, ...end, advice: null }];
  stage.story.gateway({ kind: "FINISHED", results });
}

/** Closes the batch, which is on its way to the store then. */
function sealed(stage: Stage): Batch {
  const { story } = stage;
  const { batch } = story;
  story.batch = sealBatch(batch);
  return batch;
}

/** Names of the nodes that a batch assigns. */
const assigned = (stage: Stage, { assigns }: Batch) => assigns.map(({ executionId }) => stage.name(executionId));
const birthsOf = (stage: Stage, batch: Batch) => batch.shards.get(stage.shard)?.births ?? [];
const wanted = (stage: Stage, { assigns }: Batch) =>
  assigns.filter((assign) => isStillWanted(stage.story.state, assign));
const placeOf = (stage: Stage, name: string) => stage.story.state.entries.get(stage.id(name))?.place;
const setPool = (stage: Stage, pool: Partial<Pool>) =>
  stage.story.tell({ kind: "POOLS", pools: [{ ...defaultPool("default"), ...pool }] });
const cancelRun = (stage: Stage) => {
  const { story, shard } = stage;
  story.tell({ kind: "COMMANDS", commands: [{ id: "cancel", shard, kind: "CANCEL", executionId: RUN }] });
  const rows = [stage.run([], "RUNNING", false).row];
  story.tell({ kind: "LOADED", asked: [RUN], rows, since: story.batch.number, term: story.state.term });
};
const pauseRun = (stage: Stage) =>
  stage.story.tell({
    kind: "COMMANDS",
    commands: [{ id: "pause", shard: stage.shard, kind: "PAUSE_RUN", executionId: RUN }],
  });
const voided = (batch: Batch) => ordersOf(batch).flatMap((order) => (order.kind === "VOID" ? order.credits : []));

describe("a node that follows while a worker is free", () => {
  it("is assigned in the commit that creates it, by its own row", () => {
    const { stage, a } = running();
    ends(stage, a);
    const batch = sealed(stage);
    const { row, assigned: worker } = only(birthsOf(stage, batch));
    assert.deepEqual(
      [row.state, row.queue, row.attempt, worker],
      ["RUNNING", "HELD", 1, { workerId: "w1", gateway: GATEWAY }],
    );
    assert.equal(batch.shards.get(stage.shard)?.assigned.length, 0, "no row of the journal");
    stage.answer(batch);
    const assign = only(wanted(stage, batch));
    stage.end(assign);
    const { wasState, wasAttempt, attempt, ended } = only(changesOf(stage.commit()));
    assert.deepEqual([wasState, wasAttempt, attempt, only(ended).state], ["RUNNING", 1, 1, "SUCCEEDED"]);
  });

  it("waits for an assignment of its own if its first attempt skips the numbers of a lost state", () => {
    const { stage, a } = running();
    stage.story.state.lostAttempts = { until: Number.MAX_SAFE_INTEGER, last: 100_000 };
    ends(stage, a);
    const batch = sealed(stage);
    const { row, assigned: worker } = only(birthsOf(stage, batch));
    assert.deepEqual([row.state, row.attempt, worker, batch.assigns], ["PENDING", 0, undefined, []]);
    stage.answer(batch);
    assert.equal(only(stage.commit().assigns).attempt, 100_001);
  });

  it("is not in memory, and its assignment not to be sent, before the store has created it", () => {
    const { stage, a } = running();
    ends(stage, a);
    const batch = sealed(stage);
    assert.deepEqual([placeOf(stage, "b"), wanted(stage, batch)], [undefined, []]);
    const row: Candidate = { ...only(birthsOf(stage, batch)).row };
    const { story } = stage;
    story.tell({ kind: "LOADED", asked: [row.id], rows: [row], since: batch.number, term: story.state.term });
    story.hint({ ...row, state: "PENDING", queue: "READY", attempt: 0 });
    assert.equal(placeOf(stage, "b"), undefined, "a read or a hint may be faster than the answer");
    stage.answer(batch);
    assert.equal(placeOf(stage, "b"), "ASSIGNED");
  });

  it("gets the start of its attempt into its row when the attempt has run for a second", () => {
    const { stage, a } = running();
    ends(stage, a);
    const batch = stage.commit();
    stage.story.started(only(batch.assigns)).later(500);
    assert.deepEqual(changesOf(stage.commit()), []);
    stage.story.later(500);
    const { state, attemptStartedAt, workerId } = only(changesOf(stage.commit()));
    assert.deepEqual([state, attemptStartedAt, workerId], ["RUNNING", START, "w1"]);
    stage.story.later(5_000);
    assert.deepEqual(changesOf(stage.commit()), [], "once");
  });

  it("waits if no worker is free, and the first by rank gets the last slot", () => {
    const { stage, a } = running({ credits: 0, graph: { a: [], b: ["a"] } });
    ends(stage, a);
    const batch = stage.commit();
    assert.deepEqual([only(birthsOf(stage, batch)).row.queue, batch.assigns], ["READY", []]);
    const two = running({ credits: 1, graph: { a: [], b: ["a"], c: ["a"] } });
    const run = two.stage.story.state.runs.byId.get(RUN);
    Object.assign(run?.read.definitions[2] ?? {}, { priority: 9 });
    ends(two.stage, two.a);
    assert.deepEqual(assigned(two.stage, two.stage.commit()), ["c"]);
  });

  it("leaves the worker to work that waits", () => {
    const { stage, a } = running({ credits: 1, graph: { a: [], b: ["a"] } });
    const job = candidate({ rank: START - 3_600_000 });
    const { shard, executionId, attempt, workerId } = a;
    const end = { state: "SUCCEEDED", startedAt: START, finishedAt: START, result: null, error: null } as const;
    const results = [{ shard, executionId, attempt, workerId, ...end, advice: null }];
    stage.story.tell(
      { kind: "GATEWAY", from: GATEWAY, message: { kind: "FINISHED", results } },
      { kind: "HINTED", rows: [job] },
    );
    const batch = stage.commit();
    assert.deepEqual([only(batch.assigns).executionId, only(birthsOf(stage, batch)).assigned], [job.id, undefined]);
  });

  it("waits behind rows of its lane that are not in memory", () => {
    const { stage, a } = running({ credits: 5, graph: { a: [], b: ["a"] }, limits: { laneEntries: 1 } });
    const { story } = stage;
    const lane = only([...story.state.lanes.all()]);
    story.state.lanes.know(lane, { tail: { rank: 0, id: "" } });
    ends(stage, a);
    assert.deepEqual(stage.commit().assigns, []);
  });

  it("waits while its pool is paused, or the batch is full", () => {
    const paused = running();
    setPool(paused.stage, { paused: true });
    ends(paused.stage, paused.a);
    assert.deepEqual(paused.stage.commit().assigns, []);
    const full = running({ credits: 5, graph: { a: [], b: ["a"], c: ["a"] }, limits: { batchAssigns: 1 } });
    ends(full.stage, full.a);
    assert.deepEqual(assigned(full.stage, full.stage.commit()), ["b"]);
  });

  it("takes a permit of its pool, and gives it back if it is not created", () => {
    const { stage, a } = running();
    const { story } = stage;
    setPool(stage, { maxRunning: 2 });
    story.hint(candidate()).exchangePermits();
    story.finish(only(story.commit().assigns)).commit();
    const room = () => story.state.permits.of("default")?.room(story.state.term);
    assert.equal(room(), 1, "the permit of the job is kept");
    ends(stage, a);
    const batch = sealed(stage);
    assert.deepEqual([assigned(stage, batch), room()], [["b"], 0]);
    stage.answer(batch, ["b"]);
    assert.equal(room(), 1);
    const limited = running();
    setPool(limited.stage, { maxRunning: 1 });
    limited.stage.story.exchangePermits();
    ends(limited.stage, limited.a);
    assert.deepEqual(limited.stage.commit().assigns, [], "the permit of a is in use until its end is durable");
  });

  it("counts for a limit of its pool that begins during the commit", () => {
    const { stage, a } = running();
    ends(stage, a);
    const batch = sealed(stage);
    setPool(stage, { maxRunning: 2 });
    stage.story.exchangePermits();
    stage.answer(batch);
    const { story } = stage;
    const jobs = [candidate(), candidate()];
    story.hint(...jobs).exchangePermits();
    assert.deepEqual(story.assigned(), [jobs[0]?.id], "one of two");
  });
});

describe("a node that was assigned in the commit that was to create it", () => {
  it("is not sent if the store has not created it, and may be created anew", () => {
    const { stage, a } = running();
    ends(stage, a);
    const batch = stage.commit(["b"]);
    assert.deepEqual([assigned(stage, batch), wanted(stage, batch), placeOf(stage, "b")], [["b"], [], undefined]);
    assert.equal(stage.story.state.runs.unborn.size, 0);
    stage.commit();
    stage.load({ a: "SUCCEEDED" });
    const again = stage.commit();
    assert.deepEqual([assigned(stage, again), wanted(stage, batch).length, wanted(stage, again).length], [["b"], 1, 1]);
  });

  it("is taken out of the next batch with the end that the store has refused", () => {
    const { stage, a } = running({ credits: 5, graph: { a: [], x: [], b: ["a"], y: ["x"] } });
    const x = only(stage.hint("x").story.commit().assigns);
    ends(stage, a);
    const first = sealed(stage);
    const { story } = stage;
    ends(stage, x);
    assert.deepEqual(assigned(stage, story.batch), ["y"]);
    const credit = only(story.batch.assigns).credit;
    const change = first.shards.get(stage.shard)?.changes.get(stage.id("a"));
    assert.ok(change !== undefined);
    deadLetterRefused(story.state, first, story.batch, [{ change, shard: stage.shard, message: "no" }]);
    assert.deepEqual(
      [birthsOf(stage, story.batch), assigned(stage, story.batch), voided(story.batch)],
      [[], [], [credit]],
    );
    stage.answer(first, ["b"]);
    assert.deepEqual([wanted(stage, first), story.state.runs.unborn.size], [[], 0]);
    assert.deepEqual(states(stage, stage.commit()), { a: "DEAD RESULT_REFUSED", x: "SUCCEEDED" });
  });

  it("keeps its number at the gateway until the answer, and not longer", () => {
    const { stage, a } = running();
    const { story } = stage;
    ends(stage, a);
    const batch = sealed(stage);
    const { credit } = only(batch.assigns);
    const fullSync = () => {
      const credits = [{ workerId: "w1", account: 1, granted: 6, highest: credit - 1, missing: [] }];
      story.gateway({ kind: "CREDITS", term: story.state.term, roll: true, credits });
      return voided(story.batch);
    };
    assert.deepEqual(fullSync(), []);
    stage.answer(batch, ["b"]);
    assert.deepEqual(fullSync(), [credit]);
  });

  for (const [reason, happens] of [
    ["was lost", ({ story }: Stage) => story.lose("w1")],
    [
      "has a new connection",
      ({ story }: Stage) => {
        const worker = {
          workerId: "w1",
          name: "w1",
          pool: "default",
          handlers: ["echo"],
          capabilities: [],
          prefetch: 0,
        };
        story.up({ ...worker, ...ONE }, [], { connection: 2, account: 2 });
      },
    ],
  ] as const) {
    it(`is released if the worker ${reason} meanwhile`, () => {
      const { stage, a } = running();
      ends(stage, a);
      const batch = sealed(stage);
      happens(stage);
      stage.answer(batch);
      assert.deepEqual(wanted(stage, batch), []);
      const { wasState, state, queue, failures, ended } = only(changesOf(stage.commit()));
      assert.deepEqual(
        [wasState, state, queue, failures, only(ended).state],
        ["RUNNING", "PENDING", "READY", 0, "RELEASED"],
      );
    });
  }

  it("does not start if its run was paused or cancelled meanwhile", () => {
    const queues = (order: (stage: Stage) => void) => {
      const { stage, a } = running();
      ends(stage, a);
      const batch = sealed(stage);
      order(stage);
      stage.answer(batch);
      assert.deepEqual(wanted(stage, batch), []);
      const written = changesOf(stage.commit()).filter(({ id }) => id === stage.id("b"));
      return written.map(({ state, queue }) => [state, queue]);
    };
    assert.deepEqual([queues(pauseRun), queues(cancelRun)], [[["PENDING", "PARKED"]], [["CANCELLED", "NONE"]]]);
  });

  it("leaves memory with its shard", () => {
    const { stage, a } = running();
    const { story } = stage;
    setPool(stage, { maxRunning: 3 });
    story.exchangePermits();
    ends(stage, a);
    const batch = sealed(stage);
    story.tell({ kind: "LOST", shards: [stage.shard] });
    assert.deepEqual([story.state.runs.unborn.size, wanted(stage, batch)], [0, []]);
  });

  it("is released by the next owner if the worker has not got it", () => {
    const { stage, a } = running();
    ends(stage, a);
    const { row } = only(birthsOf(stage, sealed(stage)));
    const next = new Story();
    const attempt = { attempt: 1, workerId: "w1", gateway: GATEWAY, assignedAt: row.dueAt, attemptStartedAt: null };
    const recovered = { inFlight: [{ row, ...attempt, journal: null }], journals: [], commands: [], runs: [RUN] };
    next.tell({ kind: "GATEWAYS", nodes: [GATEWAY] });
    next.tell({ kind: "OWNED", term: 2, epochs: new Map([[stage.shard, 2]]), recovered, incarnation: "node-2" });
    assert.deepEqual(changesOf(next.commit()), [], "the worker may have it");
    next.worker("w1", { ...ONE, slots: 2 });
    const { wasState, wasAttempt, state, ended } = only(changesOf(next.commit()));
    assert.deepEqual([wasState, wasAttempt, state, only(ended).state], ["RUNNING", 1, "PENDING", "RELEASED"]);
  });
});
