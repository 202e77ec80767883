import assert from "node:assert/strict";
import { it } from "node:test";
import { SIGNALS_OPEN_MAX, SIGNALS_OPEN_MAX_BYTES } from "@mainspring/contract/limits";
import { type Signal, waitData } from "../../domain/step.ts";
import type { NewJob, RowChange, StepWrite } from "../store.ts";
import type { SignalCommand } from "../store-commands.ts";
import { birth, loaded, nodeId, runEnds, started } from "./runs-scene.conformance.ts";
import { fenced, type Scene, takeShards } from "./store-scene.conformance.ts";

/** Suspensions and signals. */
export function signalsConformance(scene: () => Scene): void {
  const commandOf = ({ executionId, shard }: NewJob): SignalCommand => ({
    ...{ id: scene().runtime.uuid(), shard, executionId },
    kind: "SIGNAL",
  });
  const add = (job: NewJob, signal: Signal, command = commandOf(job)) =>
    scene().store.steps.addSignal(job.executionId, signal, command);
  const open = async (...jobs: NewJob[]) => {
    const read = await scene().store.steps.readSignals(jobs.map(({ executionId }) => executionId));
    return new Map(Array.from(read, ([id, signals]) => [id, signals.map(plainSignal)]));
  };
  const openIds = async (job: NewJob) => ((await open(job)).get(job.executionId) ?? []).map(({ id }) => id);
  const result = ({ executionId }: NewJob, fields: Partial<StepWrite> = {}): StepWrite => ({
    ...{ executionId, name: "approval", kind: "RESULT", attempt: 2, number: 1, at: 5, data: null },
    ...fields,
  });
  const recorded = async ({ executionId }: NewJob) => {
    const steps = (await scene().store.steps.read([executionId])).get(executionId) ?? [];
    return steps.map(({ name, kind, attempt }) => [name, kind, attempt]);
  };
  /** Change of an execution whose first attempt suspends. */
  const suspended = (job: NewJob, change: Partial<RowChange> = {}) =>
    scene().succeeded(job, {
      ...{ state: "PENDING", queue: "WAITING", reason: "AWAITS_SIGNAL", finishedAt: null, steps: "AWAITING" },
      dueAt: scene().runtime.now() + 60_000,
      ...change,
    });

  it("reads the signals and records of an execution once, although its id occurs twice", async () => {
    const { steps } = scene().store;
    const job = await scene().submitted();
    const other = await scene().submitted();
    await add(job, signalOf("first", { at: 500 }));
    await add(job, signalOf("second", { at: 600 }));
    await scene().applied(job.shard, { steps: [result(job)] });
    const ids = (await open(job, other, job)).get(job.executionId)?.map(({ id }) => id);
    assert.deepEqual(ids, [signalOf("first").id, signalOf("second").id]);
    const records = (await steps.read([job.executionId, other.executionId, job.executionId])).get(job.executionId);
    assert.equal(records?.length, 1);
  });

  it("gives the records and the open signals to an execution that repeats this one, where that is asked for", async () => {
    const { jobs, steps, load } = scene().store;
    const job = await scene().submitted();
    const [taken, kept] = [signalOf("a", { at: 500 }), signalOf("b", { at: 600 })];
    await add(job, taken);
    await add(job, kept);
    const checkpoint = result(job, { name: "", kind: "CHECKPOINT", number: 4 });
    const written = [result(job, { signalId: taken.id, data: Buffer.from("[1]") }), checkpoint];
    const dead = scene().succeeded(job, { state: "DEAD", steps: "RECORDED" });
    await scene().applied(job.shard, { changes: [dead], steps: written });
    const run = (keepsSteps: boolean) => {
      const next = scene().job({ jobId: job.jobId, shard: job.shard });
      return { ...next, executionId: scene().runtime.uuid(), retryOf: job.executionId, jobVersion: 1, keepsSteps };
    };
    const again = run(true);
    assert.deepEqual(await jobs.run(again), { kind: "ACCEPTED", steps: "RECORDED" });
    assert.equal((await load([again.executionId]))[0]?.steps, "RECORDED");
    const records = (await steps.read([again.executionId])).get(again.executionId) ?? [];
    assert.deepEqual(
      records.map(({ name, kind, attempt, data }) => [name, kind, attempt, data && String(Buffer.from(data))]),
      [
        ["approval", "RESULT", 0, "[1]"],
        ["", "CHECKPOINT", 0, null],
      ],
    );
    assert.deepEqual(await openIds(again), [kept.id]);
    const newer = result(again, { name: "", kind: "CHECKPOINT", attempt: 1, number: 1 });
    await scene().applied(job.shard, { changes: [scene().succeeded(again, { state: "DEAD" })], steps: [newer] });
    assert.deepEqual(await recorded(again), [
      ["approval", "RESULT", 0],
      ["", "CHECKPOINT", 1],
    ]);
    const anew = run(false);
    assert.deepEqual(await jobs.run(anew), { kind: "ACCEPTED" });
    assert.deepEqual([(await load([anew.executionId]))[0]?.steps, await recorded(anew)], [undefined, []]);
  });

  it("keeps every field of a signal, and gives its owner the command", async () => {
    const [job, other] = [await scene().submitted(), await scene().submitted()];
    const command = commandOf(job);
    const first = signalOf("b ä", { name: "approved ä", at: 1_234_567 });
    assert.deepEqual(await add(job, first, command), { kind: "ACCEPTED", at: 1_234_567 });
    await add(job, signalOf("a", { at: 1_234_900, data: null }));
    assert.deepEqual(
      await open(job, other),
      new Map([[job.executionId, [first, signalOf("a", { at: 1_234_900, data: null })].map(plainSignal)]]),
    );
    const [kept] = await scene().store.readCommands([job.shard], new Set(), 10);
    assert.deepEqual(kept, command);
    assert.equal((await scene().store.poll([job.shard], { dueUntil: 0, firesUntil: 0 })).commands, true);
    assert.deepEqual((await scene().store.recover([job.shard])).commands[0], command);
    await scene().applied(job.shard, { commandsDone: [command.id] });
    assert.equal((await scene().store.readCommands([job.shard], new Set(), 10)).length, 1);
  });

  it("gives signals of one execution growing times, so that they are read in the order of their acceptance", async () => {
    const job = await scene().submitted();
    assert.deepEqual(await add(job, signalOf("z", { at: 500 })), { kind: "ACCEPTED", at: 500 });
    assert.deepEqual(await add(job, signalOf("y", { at: 500 })), { kind: "ACCEPTED", at: 501 });
    assert.deepEqual(await add(job, signalOf("x", { at: 400 })), { kind: "ACCEPTED", at: 502 });
    assert.deepEqual(await openIds(job), ["z", "y", "x"]);
    const outcomes = await Promise.all(["a", "b", "c", "d"].map((id) => add(job, signalOf(id, { at: 500 }))));
    const times = outcomes.map((outcome) => ("at" in outcome ? outcome.at : 0));
    assert.deepEqual(new Set(times), new Set([503, 504, 505, 506]));
  });

  it("takes a repeated signal once, also after it was consumed and after the end of its execution", async () => {
    const job = await scene().submitted();
    const signal = signalOf("a", { at: 500 });
    await add(job, signal);
    const repeated = { kind: "REPEATED", at: 500 };
    assert.deepEqual(await add(job, { ...signal, at: 900 }), repeated);
    assert.deepEqual(await add(job, { ...signal, name: "rejected" }), { kind: "ID_REUSED" });
    assert.deepEqual(await add(job, { ...signal, data: null }), { kind: "ID_REUSED" });
    assert.equal((await scene().store.readCommands([job.shard], new Set(), 10)).length, 1);
    await scene().applied(job.shard, { changes: [scene().running(job)], steps: [result(job, { signalId: "a" })] });
    assert.deepEqual([await add(job, signal), await openIds(job)], [repeated, []]);
    const ended = { wasState: "RUNNING", wasAttempt: 1 } as const;
    await scene().applied(job.shard, { changes: [scene().succeeded(job, ended)] });
    assert.deepEqual(await add(job, signal), repeated);
    assert.deepEqual(await add(job, signalOf("b")), { kind: "FINAL" });
    assert.deepEqual(await add(scene().job(), signal), { kind: "UNKNOWN" });
  });

  it("keeps at most so many signals, and bytes of signals, that no step has consumed", async () => {
    const [many, large] = [await scene().submitted(), await scene().submitted()];
    for (let n = 0; n < SIGNALS_OPEN_MAX; n++) await add(many, signalOf(`${n}`));
    assert.deepEqual(await add(many, signalOf("more")), { kind: "TOO_MANY" });
    await scene().applied(many.shard, { steps: [result(many, { signalId: "7" })] });
    assert.equal((await add(many, signalOf("more"))).kind, "ACCEPTED");
    const data = Buffer.alloc(64 * 1024, "1");
    for (let n = 0; n < SIGNALS_OPEN_MAX_BYTES / data.length; n++) await add(large, signalOf(`${n}`, { data }));
    assert.deepEqual(await add(large, signalOf("more", { data: Buffer.from("1") })), { kind: "TOO_MANY" });
    assert.equal((await add(large, signalOf("empty", { data: null }))).kind, "ACCEPTED");
  });

  it("marks a signal as consumed in the commit that writes the record, and only by the record that counts", async () => {
    const job = await scene().submitted();
    for (const id of ["a", "b", "c"]) await add(job, signalOf(id));
    await scene().applied(job.shard, { steps: [result(job, { signalId: "b" })] });
    assert.deepEqual(await openIds(job), ["a", "c"]);
    await scene().applied(job.shard, { steps: [result(job, { signalId: "a", attempt: 3 })] });
    assert.deepEqual(await openIds(job), ["a", "c"], "the step has consumed another signal");
    const tick = scene().tick(job.shard, { steps: [result(job, { name: "second", signalId: "a" })] });
    await takeShards(scene().store, [job.shard], scene().runtime.uuid());
    assert.deepEqual(await scene().store.commit([tick]), [fenced(job.shard)]);
    assert.deepEqual(await openIds(job), ["a", "c"]);
  });

  it("keeps the first record of a wait until the result of its step replaces it", async () => {
    const job = await scene().submitted();
    const wait = (attempt: number, until: number) =>
      result(job, { kind: "WAIT", attempt, number: 0, data: waitData({ until, signals: [] }) });
    await scene().applied(job.shard, { steps: [wait(1, 100)] });
    await scene().applied(job.shard, { steps: [wait(2, 200)] });
    const [kept] = (await scene().store.steps.read([job.executionId])).get(job.executionId) ?? [];
    assert.deepEqual(
      [kept?.kind, kept?.attempt, Buffer.from(kept?.data ?? [])],
      ["WAIT", 1, wait(1, 100).data].map(bytes),
    );
    await scene().applied(job.shard, { steps: [result(job, { attempt: 3 })] });
    await scene().applied(job.shard, { steps: [wait(4, 300)] });
    assert.deepEqual(await recorded(job), [["approval", "RESULT", 3]]);
  });

  it("keeps the mark of a row, whichever it is, until a change gives it another", async () => {
    const job = await scene().submitted();
    const mark = async () => (await scene().store.load([job.executionId]))[0]?.steps;
    let wasAttempt = 0;
    for (const steps of ["SLEEPING", "AWAITING", "RECORDED"] as const) {
      await scene().applied(job.shard, { changes: [suspended(job, { steps, wasAttempt, attempt: ++wasAttempt })] });
      assert.equal(await mark(), steps);
      const due = scene().runtime.now() + 120_000;
      assert.equal((await scene().store.readWaiting([job.shard], due, 10))[0]?.steps, steps);
      const { steps: _, ...unmarked } = suspended(job, { wasAttempt, attempt: wasAttempt });
      await scene().applied(job.shard, { changes: [unmarked] });
      assert.equal(await mark(), steps, "the change says nothing about it");
    }
  });

  it("writes no record of an execution whose change it misses or refuses, and the records of the others", async () => {
    const job = await scene().submitted();
    const [missed, refused] = [
      await scene().submitted({ shard: job.shard }),
      await scene().submitted({ shard: job.shard }),
    ];
    await add(missed, signalOf("a"));
    const changes = [suspended(job), suspended(missed, { wasAttempt: 7 }), suspended(refused, { workerId: "w\u0000" })];
    const steps = [result(job), result(missed, { signalId: "a" }), result(refused)];
    const [outcome] = await scene().store.commit([scene().tick(job.shard, { changes, steps })]);
    assert.deepEqual(
      [outcome?.missed, outcome?.refused.map(({ id }) => id)],
      [[missed.executionId], [refused.executionId]],
    );
    assert.deepEqual(await recorded(job), [["approval", "RESULT", 2]]);
    assert.deepEqual([await recorded(missed), await recorded(refused)], [[], []]);
    assert.deepEqual(await openIds(missed), ["a"]);
  });

  it("keeps signals to a node that has no execution yet, and names it to the run's owner", async () => {
    const asked = await started(scene());
    const { executionId: run, shard } = asked;
    const [late, root] = [3, 0].map((node) => nodeId(run, node)) as [string, string];
    const command = (executionId: string, node: number) => {
      return { id: scene().runtime.uuid(), kind: "SIGNAL", shard, executionId, ofNode: { run, node } } as const;
    };
    const { steps } = scene().store;
    const sent = command(late, 3);
    assert.equal((await steps.addSignal(late, signalOf("a"), sent)).kind, "ACCEPTED");
    assert.deepEqual(await scene().store.readCommands([shard], new Set(), 10), [sent]);
    assert.equal((await steps.addSignal(late, signalOf("a"), command(late, 3))).kind, "REPEATED");
    assert.deepEqual((await loaded(scene(), asked)).signalled, [late]);
    assert.equal((await steps.addSignal(root, signalOf("b"), command(root, 0))).kind, "ACCEPTED");
    assert.deepEqual((await loaded(scene(), asked)).signalled.sort(), [late, root].sort());
    await scene().applied(shard, { births: [birth(scene(), asked, 3, [], { steps: "RECORDED" })] });
    assert.equal((await scene().store.load([late]))[0]?.steps, "RECORDED");
    assert.deepEqual(
      (await steps.readSignals([late])).get(late)?.map(({ id }) => id),
      ["a"],
    );
  });

  it("takes no signal to a node of a run that is unknown or final, and forgets those of a run with the run", async () => {
    const asked = await started(scene(), { roots: [] });
    const { executionId: run, shard } = asked;
    const node = nodeId(run, 3);
    const add = (id: string, of = run) => {
      const command = { id: scene().runtime.uuid(), kind: "SIGNAL", shard, executionId: node } as const;
      return scene().store.steps.addSignal(node, signalOf(id), { ...command, ofNode: { run: of, node: 3 } });
    };
    assert.equal((await add("a", scene().runtime.uuid())).kind, "UNKNOWN");
    assert.equal((await add("a")).kind, "ACCEPTED");
    await scene().applied(shard, { changes: [runEnds(scene(), asked)] });
    assert.equal((await add("b")).kind, "FINAL");
    const { commands } = await scene().store.recover([shard]);
    await scene().applied(shard, { commandsDone: commands.map(({ id }) => id) });
    await scene().store.maintain(scene().runtime.now() + 10 * 86_400_000, { days: 5, deadDays: 5 });
    assert.deepEqual([...(await scene().store.steps.readSignals([node])).keys()], []);
  });

  it("forgets signals with their execution", async () => {
    const [job, stays] = [await scene().submitted(), await scene().submitted()];
    await add(job, signalOf("a"));
    await add(stays, signalOf("a"));
    await scene().applied(job.shard, { changes: [scene().succeeded(job)] });
    await scene().store.maintain(scene().runtime.now() + 10 * 86_400_000, { days: 5, deadDays: 5 });
    assert.deepEqual([...(await open(job, stays)).keys()], [stays.executionId]);
  });
}

function signalOf(id: string, fields: Partial<Signal> = {}): Signal {
  return { id, name: "approved", data: Buffer.from(String.raw`{"nul":"\u0000"}`), at: 1_000, ...fields };
}

function plainSignal({ data, ...signal }: Signal) {
  return { ...signal, data: bytes(data) };
}

/** Bytes as a Buffer, whichever class holds them. */
function bytes(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value) : value;
}
