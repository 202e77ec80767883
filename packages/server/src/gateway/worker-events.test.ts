import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import { eventId, type LifecycleEvent } from "../domain/lifecycle-event.ts";

import type { InboxEvents } from "../ports/told-events.ts";
import { ManualRuntime, NODE, Stage } from "./gateway.fixture.ts";
import { WorkerEvents } from "./worker-events.ts";

/** A store that takes events, unless it is away. */
class Inbox {
  isAway = false;
  readonly calls: (readonly InboxEvents[])[] = [];

  async leave(members: readonly InboxEvents[]): Promise<void> {
    this.calls.push(members);
    if (this.isAway) throw new Error("away");
  }

  /** Events of the last call. */
  get last(): LifecycleEvent[] {
    return this.calls.at(-1)?.flatMap(({ events }) => events) ?? [];
  }
}

function scene(isOn = () => true) {
  const runtime = new ManualRuntime();
  const inbox = new Inbox();
  const log = pino({ level: "silent" });
  const workerEvents = new WorkerEvents({ events: inbox, runtime, log, isOn });
  const stage = new Stage(NODE, runtime, undefined, undefined, undefined, workerEvents);
  stage.own();
  const later = async (ms: number) => {
    runtime.advance(ms);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { stage, inbox, workerEvents, later };
}

const told = (events: readonly LifecycleEvent[]) =>
  events.map(({ kind, workerId, reason }) => [kind, workerId, reason]);

describe("events of workers", () => {
  it("tell the begin and the end of a session under one id, once a second", async () => {
    const { stage, inbox, later } = scene();
    const worker = stage.connect().hello();
    await later(999);
    assert.deepEqual(inbox.calls, []);
    await later(1);
    assert.deepEqual(told(inbox.last), [["WorkerRegistered", "worker-1", null]]);
    const [begin] = inbox.last;
    assert.deepEqual([begin?.pool, begin?.handler, begin?.attempt], ["default", "", 0]);
    worker.breakOff();
    stage.connect().hello().breakOff();
    await later(7_000);
    assert.equal(inbox.calls.length, 2, "the session goes on over connections");
    assert.deepEqual(told(inbox.last), [["WorkerDead", "worker-1", "CONNECTION_LOST"]]);
    const ids = [begin, ...inbox.last].map((event) => eventId(event as LifecycleEvent));
    assert.deepEqual(ids, [`worker-1/${begin?.session}/WorkerRegistered`, `worker-1/${begin?.session}/WorkerDead`]);
    stage.connect().hello();
    await later(1_000);
    assert.notEqual(inbox.last[0]?.session, begin?.session);
  });

  it("say why a session ended", async () => {
    const { stage, inbox, later, workerEvents } = scene();
    stage.connect().hello();
    const [leaves, silent] = ["leaves", "silent"].map((workerId) => stage.connect().hello({ workerId }));
    stage.connect().hello({ workerId: "replaced" });
    stage.connect().hello({ workerId: "replaced", slots: 7 });
    leaves?.say({ draining: true });
    leaves?.breakOff();
    await later(1_000);
    const ends = inbox.last.filter(({ kind }) => kind === "WorkerDead");
    const reasons = ends.map(({ workerId, reason }) => `${workerId} ${reason}`).sort();
    assert.deepEqual(reasons, ["leaves LEFT", "replaced REPLACED"]);
    for (let at = 0; at < 40_000; at += 10_000) {
      for (const workerId of ["worker-1", "replaced"])
        stage.connect().hello({ workerId, ...(workerId === "replaced" && { slots: 7 }) });
      await later(10_000);
    }
    assert.ok(silent);
    assert.deepEqual(told(inbox.last), [["WorkerDead", "silent", "SILENT"]]);
    stage.gateway.close();
    stage.gateway.close();
    await workerEvents.stop();
    assert.deepEqual(told(inbox.last).sort(), [
      ["WorkerDead", "replaced", "SERVER_STOPPED"],
      ["WorkerDead", "worker-1", "SERVER_STOPPED"],
    ]);
  });

  it("wait for a store that is away under the same ids, and come before later ones", async () => {
    const { stage, inbox, later } = scene();
    inbox.isAway = true;
    stage.connect().hello();
    await later(1_000);
    stage.connect().hello({ workerId: "second" });
    await later(1_000);
    inbox.isAway = false;
    await later(1_000);
    const [first, ...repeats] = inbox.calls;
    assert.equal(repeats.length, 2);
    for (const repeat of repeats) assert.deepEqual(repeat, first);
    await later(1_000);
    assert.deepEqual(told(inbox.last), [["WorkerRegistered", "second", null]]);
    await later(5_000);
    assert.equal(inbox.calls.length, 4);
  });

  it("are not made while events are off, nor is the end of a session that began then", async () => {
    let isOn = false;
    const { stage, inbox, later } = scene(() => isOn);
    const worker = stage.connect().hello();
    isOn = true;
    worker.breakOff();
    await later(7_000);
    assert.deepEqual(inbox.calls, []);
  });

  it("are dropped beyond a limit while the store is away", async () => {
    const { inbox, later, workerEvents } = scene();
    inbox.isAway = true;
    const profile = { workerId: "w", name: "w", pool: "p", handlers: [], capabilities: [], slots: 1, prefetch: 0 };
    for (let i = 0; i < 20_000; i++) workerEvents.registered(profile);
    await later(1_000);
    assert.equal(inbox.last.length, 10_000);
    const { last } = inbox;
    inbox.isAway = false;
    await later(1_000);
    assert.deepEqual(inbox.last, last);
  });
});
