import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { memoryBus } from "../../adapters/memory/memory-bus.ts";
import type { Candidate } from "../../domain/execution.ts";
import { DEFAULT_ORDERING } from "../../domain/rank.ts";
import { ManualRuntime, settled } from "../../ports/manual-runtime.fixture.ts";
import { tenantOf } from "../../security/tenant.ts";
import { playOwner } from "../api.fixture.ts";
import { ProblemError } from "../http/errors.ts";
import { jobDefinition } from "../submit/job-definition.ts";
import { candidateOf, newJob } from "../submit/new-job.ts";
import { Waiters } from "./waiters.ts";

function scene(max?: number) {
  const runtime = new ManualRuntime();
  const bus = memoryBus(runtime.uuid());
  const heard: string[] = [];
  const end = playOwner(bus, (message) => heard.push(message.kind));
  const rows = new Map<string, Candidate>();
  let reads = 0;
  const load = async (ids: readonly string[]) => {
    reads++;
    return ids.flatMap((id) => rows.get(id) ?? []);
  };
  const waiters = new Waiters({ bus, runtime, store: { load } }, max);
  const start = () => {
    const row = candidateOf(
      newJob(
        tenantOf(null),
        jobDefinition({ target: { handler: "echo" } }, 0),
        null,
        DEFAULT_ORDERING,
        0,
        runtime.uuid(),
      ),
    );
    rows.set(row.id, row);
    return row;
  };
  const enter = ({ id, shard }: Candidate) => {
    const waiter = waiters.enter(id, shard);
    const state = { woken: false, leave: waiter.leave };
    void waiter.woken.then(() => (state.woken = true));
    return state;
  };
  return { runtime, bus, heard, end, rows, waiters, start, enter, reads: () => reads };
}

describe("waiting for executions", () => {
  it("asks the owner once for any number that wait, and lets it know when nobody does", async () => {
    const { heard, start, enter } = scene();
    const row = start();
    const both = [enter(row), enter(row)];
    await settled();
    assert.deepEqual(heard, ["WATCH"]);
    both[0]?.leave();
    both[0]?.leave();
    await settled();
    assert.deepEqual(heard, ["WATCH"]);
    both[1]?.leave();
    await settled();
    assert.deepEqual(heard, ["WATCH", "UNWATCH"]);
  });

  it("wakes everybody at the owner's word, which has forgotten them then", async () => {
    const { heard, waiters, start, enter } = scene();
    const row = start();
    const both = [enter(row), enter(row)];
    waiters.final(row.id);
    await settled();
    assert.deepEqual(
      both.map(({ woken }) => woken),
      [true, true],
    );
    for (const { leave } of both) leave();
    await settled();
    assert.deepEqual(heard, ["WATCH"]);
  });

  it("looks soon for what became final before it was watched", async () => {
    const { runtime, rows, start, enter } = scene();
    const [over, open] = [start(), start()];
    rows.delete(over.id);
    const waits = [enter(over), enter(open)];
    await runtime.advance(25);
    assert.deepEqual(
      waits.map(({ woken }) => woken),
      [true, false],
    );
  });

  it("looks at everything once a second, with one read for all", async () => {
    const { runtime, rows, start, enter, reads } = scene();
    const all = Array.from({ length: 500 }, start);
    const waits = all.map(enter);
    await runtime.advance(25);
    const before = reads();
    for (const row of all) rows.delete(row.id);
    await runtime.advance(1_000);
    assert.ok(waits.every(({ woken }) => woken));
    assert.equal(reads() - before, 1);
  });

  it("asks the next owner too", async () => {
    const { runtime, bus, heard, end, start, enter } = scene();
    end();
    enter(start());
    await runtime.advance(25);
    assert.equal(heard.length, 0);
    playOwner(bus, (message) => heard.push(message.kind));
    await runtime.advance(1_000);
    assert.deepEqual(heard, ["WATCH"]);
  });

  it("turns away whoever would be too many, and nobody once there is room", () => {
    const { start, enter } = scene(2);
    const row = start();
    const waits = [enter(row), enter(row)];
    assert.throws(
      () => enter(row),
      (error) => error instanceof ProblemError && error.problem.status === 429,
    );
    waits[0]?.leave();
    assert.equal(enter(row).woken, false);
  });

  it("wakes everybody when it is over", async () => {
    const { waiters, start, enter } = scene();
    const wait = enter(start());
    waiters.close();
    await settled();
    assert.equal(wait.woken, true);
  });
});
