import assert from "node:assert/strict";
import { it } from "node:test";
import type { RankCursor } from "../../domain/execution.ts";
import { defaultPool, type Pool } from "../../domain/pool.ts";
import type { PollSummary } from "../store.ts";
import type { Command } from "../store-commands.ts";
import { planned } from "./recurring-scene.conformance.ts";
import { ALL_SHARDS, type Scene, takeShards } from "./store-scene.conformance.ts";

const NOTHING = { inFlight: [], journals: [], commands: [] };

export function readConformance(scene: () => Scene): void {
  it("raises the epoch with every takeover, of the shards that were asked for and in their order", async () => {
    const { store, runtime } = scene();
    const before = await takeShards(store, ALL_SHARDS, runtime.uuid());
    const [nine = 0, three = 0] = await takeShards(store, [9, 3], runtime.uuid());
    assert.ok(nine > (before[9] as number) && three > (before[3] as number));
    const holders = await store.readShards();
    const asTaken = before.map((epoch, shard) => (shard === 9 ? nine : shard === 3 ? three : epoch));
    assert.deepEqual(
      holders.map(({ epoch }) => epoch),
      asTaken,
    );
    const after = await takeShards(store, ALL_SHARDS, runtime.uuid());
    assert.ok(after.every((epoch, shard) => epoch > (asTaken[shard] as number)));
  });

  it("gives an epoch that is greater than every one that the caller has known", async () => {
    const { store, runtime } = scene();
    const [seen] = await store.readShards();
    assert.ok(seen);
    const knownEpoch = Number.MAX_SAFE_INTEGER - 10;
    assert.deepEqual(await store.takeOver([{ ...seen, knownEpoch }], runtime.uuid()), [knownEpoch + 1]);
  });

  it("gives a shard to the faster of two who saw the same", async () => {
    const { store, runtime } = scene();
    const [first, second] = [runtime.uuid(), runtime.uuid()];
    const seen = (await store.readShards()).slice(4, 6);
    const [epoch] = await store.takeOver(seen.slice(0, 1), first);
    const [none, other] = await store.takeOver(seen, second);
    assert.equal(none, null);
    assert.ok((other ?? 0) > (seen[1]?.epoch ?? 0));
    assert.deepEqual((await store.readShards()).slice(4, 6), [
      { shard: 4, epoch, owner: first },
      { shard: 5, epoch: other, owner: second },
    ]);
  });

  it("leaves shards to nobody, but only those that are still the caller's", async () => {
    const { store, runtime } = scene();
    const [first, second] = [runtime.uuid(), runtime.uuid()];
    await takeShards(store, [1, 2], first);
    const seen = (await store.readShards()).slice(1, 3);
    await takeShards(store, [2], second);
    await store.releaseShards(seen);
    const owners = (await store.readShards()).slice(1, 3).map(({ owner }) => owner);
    assert.deepEqual(owners, [null, second]);
  });

  it("tells a new owner what was assigned and has not ended", async () => {
    const { store } = scene();
    const [open, done] = [await scene().submitted({ shard: 4 }), await scene().submitted({ shard: 4 })];
    const assigned = [
      scene().entry(open, { workerId: 'w "2"\u0000', gateway: "g2", assignedAt: 1_234 }),
      scene().entry(done),
    ];
    const { epoch, journalSeq: seq } = await scene().applied(4, { assigned });
    await scene().applied(4, { changes: [scene().succeeded(done)] });
    await scene().takeOver();
    const { inFlight, journals } = await store.recover(ALL_SHARDS);
    assert.deepEqual(journals, [{ shard: 4, ref: { epoch, seq }, unsettled: 1 }]);
    const [row] = await store.load([open.executionId]);
    const { id: _, ...assignment } = assigned[0] as (typeof assigned)[number];
    assert.deepEqual(inFlight, [{ row, ...assignment, attemptStartedAt: null, journal: { epoch, seq } }]);
  });

  it("counts an entry as settled once the row tells of its attempt, ended or running", async () => {
    const [retried, running] = [await scene().submitted({ shard: 4 }), await scene().submitted({ shard: 4 })];
    const tick = await scene().applied(4, { assigned: [scene().entry(retried), scene().entry(running)] });
    const retry = scene().succeeded(retried, { state: "PENDING", queue: "READY", finishedAt: null });
    const said = scene().running(running, { workerId: "w7", gateway: "g7", attemptStartedAt: 5_678 });
    await scene().applied(4, { changes: [retry, said] });
    const { inFlight, journals } = await scene().store.recover([4]);
    assert.deepEqual(
      journals.map(({ ref, unsettled }) => [ref.seq, unsettled]),
      [[tick.journalSeq, 0]],
    );
    assert.deepEqual(
      inFlight.map(({ row, attempt, workerId, gateway, attemptStartedAt, journal }) => [
        ...[row.id, row.state, row.queue, attempt, workerId, gateway, attemptStartedAt, journal],
      ]),
      [[running.executionId, "RUNNING", "HELD", 1, "w7", "g7", 5_678, null]],
    );
    // The next attempt is in flight again, with its own number.
    await scene().applied(4, { assigned: [scene().entry(retried, { attempt: 2 })] });
    const again = (await scene().store.recover([4])).inFlight.find(({ row }) => row.id === retried.executionId);
    assert.equal(again?.attempt, 2);
  });

  it("forgets a journal row in the commit that settles it, also one of an owner before", async () => {
    const job = await scene().submitted({ shard: 4 });
    const { epoch, journalSeq: seq } = await scene().applied(4, { assigned: [scene().entry(job)] });
    await scene().takeOver();
    await scene().applied(4, { changes: [scene().succeeded(job)], settledJournals: [{ epoch, seq }] });
    assert.deepEqual(await scene().store.recover(ALL_SHARDS), NOTHING);
  });

  it("tells only of the shards that were asked for", async () => {
    const jobs = [await scene().submitted({ shard: 0 }), await scene().submitted({ shard: 63 })];
    for (const job of jobs) await scene().applied(job.shard, { assigned: [scene().entry(job)] });
    const { inFlight, journals } = await scene().store.recover([63]);
    assert.deepEqual([inFlight.map(({ row }) => row.shard), journals.map(({ shard }) => shard)], [[63], [63]]);
    const lane = jobs[0]?.laneHash ?? 0;
    const rows = await scene().store.readReady([0], lane, null, 10);
    assert.deepEqual(
      rows.map((row) => row.shard),
      [0],
    );
  });

  it("reads a lane in order of rank and id, page by page", async () => {
    const { store } = scene();
    const ranks = [5, -3.5, 5, 8e15, 5, -1e15, 0];
    const jobs = ranks.map((rank) => scene().job({ rank }));
    await store.submit(jobs.map((job) => ({ idempotency: null, jobs: [job] })));
    const lane = jobs[0]?.laneHash ?? 0;
    const read: RankCursor[] = [];
    for (;;) {
      const page = await store.readReady(ALL_SHARDS, lane, read.at(-1) ?? null, 2);
      read.push(...page.map(({ rank, id }) => ({ rank, id })));
      if (page.length < 2) break;
    }
    const inOrder = jobs
      .map((job) => ({ rank: job.rank, id: job.executionId }))
      .sort((a, b) => a.rank - b.rank || (a.id < b.id ? -1 : 1));
    assert.deepEqual(read, inOrder);
  });

  it("reads waiting rows up to an instant, earliest first", async () => {
    const now = scene().runtime.now();
    const jobs = [30_000, 10_000, 20_000, 40_000].map((delayMs) => scene().job({ scheduledAt: now + delayMs }));
    await scene().store.submit([{ idempotency: null, jobs }]);
    const until = async (dueUntil: number, limit: number) =>
      (await scene().store.readWaiting(ALL_SHARDS, dueUntil, limit)).map((row) => row.dueAt - now);
    assert.deepEqual(await until(now + 30_000, 10), [10_000, 20_000, 30_000]);
    assert.deepEqual(await until(now + 30_000, 2), [10_000, 20_000]);
    assert.deepEqual(await until(now + 9_999, 10), []);
  });

  it("names the lanes that have something ready, a page at a time", async () => {
    const { store } = scene();
    const jobs = ["a", "b", "c", "d"].flatMap((handler) => [scene().job({ handler }), scene().job({ handler })]);
    const waiting = scene().job({ handler: "e", scheduledAt: scene().runtime.now() + 60_000 });
    await store.submit([{ idempotency: null, jobs: [...jobs, waiting] }]);
    const lanes = [...new Set(jobs.map((job) => job.laneHash))].sort((a, b) => a - b);
    assert.deepEqual(await store.readLanes(null, 10), lanes);
    assert.deepEqual(await store.readLanes(null, 3), lanes.slice(0, 3));
    assert.deepEqual(await store.readLanes(lanes[2] as number, 3), lanes.slice(3));
    assert.deepEqual(await store.readLanes(lanes[3] as number, 3), []);
  });

  it("sees at one look what there is to read, and whose it is", async () => {
    const { store, runtime } = scene();
    const now = runtime.now();
    const seen = async (shard: number, aheadMs: number) =>
      store.poll([shard], { dueUntil: now + aheadMs, firesUntil: now + 2 * aheadMs });
    const nothing: PollSummary = {
      waiting: false,
      ready: false,
      plans: false,
      commands: false,
      events: false,
      pools: [],
    };
    assert.deepEqual(await seen(7, 60_000), nothing);
    await scene().submitted({ shard: 7, scheduledAt: now + 10_000 });
    await planned(scene(), { shard: 7, firstFireAt: now + 30_000 });
    await store.addCommand({ id: runtime.uuid(), shard: 7, kind: "CANCEL", executionId: runtime.uuid() });
    const pool = await store.putPool({ name: "gpu", maxRunning: 7, ratePerSec: 0.5, order: "FIFO" });
    const pools = [pool, await store.putPool({ name: "z", paused: true })];
    assert.deepEqual(await seen(6, 60_000), { ...nothing, pools });
    assert.deepEqual(await seen(7, 9_999), { ...nothing, commands: true, pools });
    assert.deepEqual(await seen(7, 14_999), { ...nothing, waiting: true, commands: true, pools });
    assert.deepEqual(await seen(7, 15_000), { ...nothing, waiting: true, plans: true, commands: true, pools });
    await scene().submitted({ shard: 7 });
    assert.deepEqual(await seen(6, 0), { ...nothing, ready: true, pools });
  });

  it("keeps a command until a commit has applied it", async () => {
    const { store, runtime } = scene();
    const job = await scene().submitted({ shard: 6 });
    const commands = [0, 1, 2].map((): Command => {
      return { id: runtime.uuid(), shard: 6, kind: "CANCEL", executionId: job.executionId };
    });
    for (const command of commands.toReversed()) await store.addCommand(command);
    await store.addCommand(commands[0] as Command);
    assert.deepEqual(await store.readCommands([6], new Set(), 10), commands);
    assert.deepEqual(await store.readCommands([6], new Set(), 1), commands.slice(0, 1));
    assert.deepEqual(await store.readCommands([5], new Set(), 10), []);
    await scene().applied(6, { commandsDone: [commands[1]?.id ?? ""] });
    assert.deepEqual((await store.recover([6])).commands, [commands[0], commands[2]]);
  });

  it("reads the commands that the caller does not know, however many stay open before them", async () => {
    const { store, runtime } = scene();
    const commands = Array.from({ length: 25 }, (_, i): Command => {
      return { id: runtime.uuid(), shard: i % 2 === 0 ? 6 : 9, kind: "CANCEL", executionId: runtime.uuid() };
    });
    for (const command of commands) await store.addCommand(command);
    const known = new Set<string>();
    const pages: number[] = [];
    for (let page = await store.readCommands([6, 9], known, 10); page.length > 0; ) {
      pages.push(page.length);
      assert.deepEqual(page, commands.slice(known.size, known.size + 10));
      for (const { id } of page) known.add(id);
      page = await store.readCommands([6, 9], known, 10);
    }
    assert.deepEqual(pages, [10, 10, 5]);
    assert.deepEqual(await store.readCommands([9], new Set([commands[1]?.id ?? ""]), 1), [commands[3]]);
  });

  it("reads a command that comes late with a smaller id, and one that was known to the owner before", async () => {
    const { store, runtime } = scene();
    const [late, early, next] = [0, 1, 2].map((): Command => {
      return { id: runtime.uuid(), shard: 6, kind: "CANCEL", executionId: runtime.uuid() };
    }) as [Command, Command, Command];
    await store.addCommand(early);
    await store.addCommand(next);
    const known = new Set([early.id, next.id]);
    assert.deepEqual(await store.readCommands([6], known, 10), []);
    await store.addCommand(late);
    assert.deepEqual(await store.readCommands([6], known, 10), [late]);
    await scene().takeOver([6]);
    assert.deepEqual((await store.recover([6])).commands, [late, early, next]);
    assert.deepEqual(await store.readCommands([6], new Set(), 10), [late, early, next]);
  });

  it("lets nobody but the shard's owner say that a command was applied", async () => {
    const { store, runtime } = scene();
    const id = runtime.uuid();
    await store.addCommand({ id, shard: 6, kind: "CANCEL", executionId: runtime.uuid() });
    const stale = scene().tick(6, { commandsDone: [id] });
    await scene().takeOver([6]);
    assert.equal((await store.commit([stale]))[0]?.status, "FENCED");
    assert.equal((await store.readCommands([6], new Set(), 10)).length, 1);
  });

  it("has no pools with settings of their own at first", async () => {
    assert.deepEqual(await scene().store.readPools(), []);
  });

  it("sets up a pool, and changes only what is named of one that is", async () => {
    const { store } = scene();
    const gpu = { ...defaultPool("gpu"), paused: true };
    assert.deepEqual(await store.putPool({ name: "gpu", paused: true }), gpu);
    await store.putPool({ name: "batch", order: "FIFO" });
    const changed = { ...gpu, paused: false, priorityStepMs: 60_000, placement: "ROUND_ROBIN" } as const;
    assert.deepEqual(await store.putPool(changed), changed);
    assert.deepEqual(await store.putPool({ name: "gpu" }), changed);
    assert.deepEqual(await store.readPools(), [{ ...defaultPool("batch"), order: "FIFO" }, changed]);
  });

  it("keeps every field of a pool, also when another field is changed", async () => {
    const { store } = scene();
    const pool: Pool = {
      ...{ name: "gpu", paused: true, priorityStepMs: 81, maxRunning: 82, ratePerSec: 83.5, headroom: 25 },
      order: "FIFO",
      placement: "ROUND_ROBIN",
    };
    assert.deepEqual(await store.putPool(pool), pool);
    assert.deepEqual(await store.readPools(), [pool]);
    assert.deepEqual((await store.poll([], { dueUntil: 0, firesUntil: 0 })).pools, [pool]);
    assert.deepEqual(await store.putPool({ name: "gpu" }), pool);
    const { name: _, ...fields } = pool;
    let grown: Pool = defaultPool("tpu");
    for (const [field, value] of Object.entries(fields)) {
      grown = { ...grown, [field]: value };
      assert.deepEqual(await store.putPool({ name: "tpu", [field]: value }), grown);
    }
  });

  it("keeps the limits of a pool, and takes them away again", async () => {
    const { store } = scene();
    const limited = { ...defaultPool("gpu"), maxRunning: 1_000_000, ratePerSec: 0.001 };
    assert.deepEqual(await store.putPool({ name: "gpu", maxRunning: 1_000_000, ratePerSec: 0.001 }), limited);
    assert.deepEqual(await store.putPool({ name: "gpu", maxRunning: null }), { ...limited, maxRunning: null });
    assert.deepEqual(await store.putPool({ name: "gpu", ratePerSec: null }), defaultPool("gpu"));
    assert.deepEqual(await store.readPools(), [defaultPool("gpu")]);
  });

  it("tells its time in milliseconds", async () => {
    const first = await scene().store.clock();
    const second = await scene().store.clock();
    assert.ok(second >= first && first > 1.7e12);
  });
}
