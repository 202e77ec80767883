import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assignment, credit, executionId, NODE, Stage, tokenOf, type WorkerEnd } from "../gateway.fixture.ts";
import { recipientsOf } from "./credit-allocator.ts";
import { Credits } from "./credits.ts";

const OTHER = "node-2";

describe("a slot between two owners", () => {
  it("moves to the one who has work, when the other gives it back", () => {
    const { stage } = stageOfTwo();
    const [holder, waiting] = holderFirst(stage);
    stage.demand(waiting, 5);
    assert.deepEqual(stage.reports(holder), [RECALL_OF[holder]]);
    assert.deepEqual(stage.credits(waiting), []);
    stage.bus.deliver(holder, [voided(holder, 1)]);
    assert.deepEqual(stage.credits(waiting), [credit(1, { account: accountOf(waiting) })]);
    assert.deepEqual(stage.reports(holder), [], "nobody waits any more");
    stage.runtime.advance(500);
    assert.deepEqual(stage.reportsOf("RECALL", holder), []);
  });

  it("is asked for again and again while it is not given back", () => {
    const { stage } = stageOfTwo();
    const [holder, waiting] = holderFirst(stage);
    stage.demand(waiting, 5);
    stage.demand(waiting, 4);
    assert.equal(stage.reportsOf("RECALL", holder).length, 1, "not more often than every 50 ms");
    stage.runtime.advance(200);
    assert.equal(stage.reportsOf("RECALL", holder).length, 4);
    stage.demand(waiting, null);
    stage.runtime.advance(200);
    assert.equal(stage.reportsOf("RECALL", holder).length, 0);
  });

  it("goes on to the one who waits when its work is done, though the other had it before", () => {
    const { stage, worker } = stageOfTwo();
    const [holder, waiting] = holderFirst(stage);
    stage.assignFrom(holder, assignment(1, { account: accountOf(holder) }));
    stage.demand(waiting, 5);
    assert.deepEqual(stage.reportsOf("RECALL", holder), [], "it is used");
    worker.finish(...worker.assigns);
    assert.deepEqual(stage.credits(waiting), [credit(1, { account: accountOf(waiting) })]);
    assert.deepEqual(stage.credits(holder), []);
  });

  it("is allocated to the more urgent work, and by turns where both are about as urgent", () => {
    const { stage, worker } = stageOfTwo();
    const [holder] = holderFirst(stage);
    stage.demand(NODE, 5_000);
    stage.demand(OTHER, 5_900);
    const takers = new Set<string>();
    const work = { owner: holder, sent: { [NODE]: 0, [OTHER]: 0 } };
    for (let n = 1; n <= 8; n++) takers.add(runOne(stage, worker, work, n));
    assert.deepEqual(takers, new Set([NODE, OTHER]));
    stage.demand(OTHER, 3_999);
    runOne(stage, worker, work, 9);
    for (let n = 10; n <= 14; n++) assert.equal(runOne(stage, worker, work, n), OTHER);
  });

  it("goes past an owner whose work it cannot do, for a while", () => {
    const { stage } = stageOfTwo();
    const [holder, waiting] = holderFirst(stage);
    stage.demand(holder, 1);
    stage.runtime.advance(60);
    stage.demand(waiting, 50_000);
    assert.equal(stage.reportsOf("RECALL", holder).length, 1);
    stage.bus.deliver(holder, [voided(holder, 1)]);
    assert.equal(stage.credits(waiting).length, 1, "though the other's work is more urgent");
    assert.deepEqual(stage.credits(holder), []);
  });

  it("goes to an owner that gave slots back, where its work has come only after it was asked for them", () => {
    const credits = new Credits();
    for (const [index, owner] of [NODE, OTHER].entries()) credits.open(owner, index + 1);
    const account = credits.account(NODE);
    assert.ok(account);
    account.revokedAtMs = 10;
    account.decline(20);
    const claims = (sinceMs: number) => [
      { owner: NODE, rank: 1, sinceMs },
      { owner: OTHER, rank: 50_000, sinceMs: 0 },
    ];
    assert.deepEqual(recipientsOf(credits, [NODE, OTHER], claims(9), 30), [OTHER]);
    assert.deepEqual(recipientsOf(credits, [NODE, OTHER], claims(11), 30), [NODE]);
    assert.deepEqual(recipientsOf(credits, [NODE, OTHER], claims(9), 1_021), [NODE]);
  });

  it("is not asked back from the one whose waiting work it was just allocated for", () => {
    const { stage } = stageOfTwo();
    const [holder, waiting] = holderFirst(stage);
    stage.demand(waiting, 5);
    stage.bus.deliver(holder, [voided(holder, 1)]);
    stage.demand(holder, 5);
    assert.deepEqual(stage.reportsOf("RECALL", waiting), [], "its assignment may be on its way");
    stage.runtime.advance(100);
    assert.notEqual(stage.reportsOf("RECALL", waiting).length, 0);
  });

  it("does not go to an owner that is held up and uses none, however urgent its work becomes", () => {
    const { stage, worker } = stageOfTwo(2);
    stage.demand(OTHER, 1);
    stage.demand(NODE, 50_000);
    stage.assign(assignment(1));
    stage.runtime.advance(300);
    stage.forgetReports();
    worker.finish(...worker.assigns);
    assert.deepEqual([stage.credits(NODE).length, stage.credits(OTHER).length], [1, 0]);
    stage.demand(NODE, null);
    stage.runtime.advance(100);
    assert.deepEqual(stage.reportsOf("RECALL", NODE), [], "it may keep it");
    stage.assignFrom(OTHER, assignment(2, { account: accountOf(OTHER), shard: 8, credit: 1 }));
    worker.finish(...worker.assigns.slice(-1));
    assert.equal(stage.credits(OTHER).length, 1, "it goes on");
  });

  it("stays where it is when what is said of work that waits is of an older term, or of another pool", () => {
    const { stage } = stageOfTwo();
    const [holder, waiting] = holderFirst(stage);
    stage.bus.deliver(waiting, [
      { kind: "DEMAND", term: 0, demand: [{ pool: "default", rank: 1 }] },
      { kind: "DEMAND", term: 1, demand: [{ pool: "elsewhere", rank: 1 }] },
    ]);
    stage.bus.deliver("nobody", [{ kind: "DEMAND", term: 0, demand: [{ pool: "default", rank: 1 }] }]);
    assert.deepEqual(stage.reportsOf("RECALL", holder), []);
  });

  it("is free for the other one when its owner was overtaken, and when it begins again", () => {
    const { stage } = stageOfTwo();
    const [holder, other] = holderFirst(stage);
    stage.own(other, 2);
    assert.deepEqual(stage.credits(other), [credit(1, { account: 3 })]);
    stage.own(holder, 3, [7]);
    assert.deepEqual(stage.reportsOf("WORKER_UP", holder)[0]?.account, 4, "it is back");
    stage.own(other, 4, [8]);
    assert.deepEqual(stage.credits(holder).length + stage.credits(other).length, 1);
  });
});

describe("numbers of assignments", () => {
  it("that did not come are seen in the full sync, and free their slots when they are declared void", () => {
    const { stage, worker } = stageOfOne(3);
    stage.assign(assignment(2), assignment(3));
    assert.deepEqual(fullSync(stage), [credit(3, { highest: 3, missing: [1] })]);
    stage.bus.deliver(NODE, [voided(NODE, 1), voided(NODE, 1)]);
    assert.deepEqual(stage.credits(), [credit(4, { highest: 3 })]);
    stage.assign(assignment(1));
    assert.equal(worker.assigns.length, 2, "it comes late, and is not delivered");
    assert.deepEqual(fullSync(stage), [credit(4, { highest: 3 })]);
  });

  it("may come in any order", () => {
    const { stage, worker } = stageOfOne(3);
    for (const n of [3, 1, 3, 2, 1]) stage.assign(assignment(n));
    assert.deepEqual(
      worker.assigns.map(({ token }) => token?.executionId),
      [3, 1, 2].map(executionId),
    );
    assert.deepEqual(stage.reportsOf("FINISHED"), []);
  });

  it("of an older account mean nothing, in assignments and when they are declared void", () => {
    const { stage, worker } = stageOfOne(2);
    stage.own(NODE, 2);
    stage.forgetReports();
    stage.assign(assignment(1, { epoch: 2 }));
    stage.bus.deliver(NODE, [voided(NODE, 1)]);
    assert.deepEqual([worker.assigns, stage.reports()], [[], []]);
    assert.deepEqual(fullSync(stage), [credit(2, { account: 2 })]);
  });

  it("cannot be declared void before they were allocated", () => {
    const { stage } = stageOfOne(2);
    stage.bus.deliver(NODE, [voided(NODE, 3)]);
    assert.deepEqual(fullSync(stage), [credit(2)]);
  });
});

describe("what owners missed", () => {
  it("is said again of workers that they ask for, those that went included", () => {
    const { stage, worker } = stageOfOne(2);
    stage.assign(assignment(1));
    worker.start(...worker.assigns);
    stage.connect().hello({ workerId: "worker-2", connection: 4 }).breakOff();
    const leaver = stage.connect().hello({ workerId: "worker-3" });
    leaver.say({ draining: true });
    leaver.breakOff();
    stage.runtime.advance(5_000);
    stage.forgetReports();
    stage.bus.deliver(NODE, [{ kind: "WHO", workerIds: ["worker-1", "worker-2", "worker-3", "nobody"] }]);
    const [up, lost, left, unknown, again, ...rest] = stage.reports();
    assert.ok(up?.kind === "WORKER_UP" && up.worker.workerId === "worker-1");
    assert.deepEqual(
      up.holds.map((hold) => hold.startedAt),
      [stage.runtime.now() - 5_000],
    );
    assert.ok(lost?.kind === "WORKER_LOST" && lost.workerId === "worker-2" && lost.connection === 4);
    assert.ok(left?.kind === "WORKER_LOST" && left.workerId === "worker-3" && left.reason === "it left");
    assert.ok(unknown?.kind === "WORKER_LOST" && unknown.workerId === "nobody" && unknown.connection === 0);
    assert.ok(again?.kind === "CREDITS" && !again.roll);
    assert.deepEqual([again.credits, rest], [[credit(2, { highest: 1 })], []]);
    stage.bus.deliver(OTHER, [{ kind: "WHO", workerIds: ["worker-1"] }]);
    assert.deepEqual(stage.reports(OTHER), [], "it owns nothing");
  });

  it("is said again of what could not be delivered, until they have heard it", () => {
    const { stage, worker } = stageOfOne(2);
    worker.congested = true;
    stage.assign(assignment(1));
    stage.runtime.advance(4_500);
    const reports = stage.reportsOf("FINISHED").flatMap(({ results }) => results);
    assert.equal(reports.length, 3);
    assert.ok(reports.every((result) => result.executionId === executionId(1) && result.state === "RELEASED"));
    stage.bus.deliver(NODE, [{ kind: "ACK", workerId: "worker-1", tokens: [tokenOf(assignment(1))] }]);
    stage.runtime.advance(4_500);
    assert.deepEqual(stage.reportsOf("FINISHED"), []);
  });

  it("of results is asked from the worker, while it is so", () => {
    const { stage, worker } = stageOfOne(2);
    stage.assign(assignment(1), assignment(2));
    worker.finish(...worker.assigns);
    const asked = () => worker.received.splice(0).filter((message) => message.resendResults).length;
    stage.runtime.advance(1_900);
    assert.equal(asked(), 0);
    stage.runtime.advance(200);
    assert.equal(asked(), 1);
    worker.say({ finished: [{ token: tokenOf(assignment(1)), outcome: 1 }] });
    stage.runtime.advance(10_000);
    assert.equal(asked(), 1, "ever less often: who is slow has not lost it");
    stage.runtime.stall(20_000);
    stage.runtime.advance(5_000);
    assert.equal(asked(), 0, "this process was held up, and may not have read the answer");
    stage.own(OTHER, 2);
    assert.equal(asked(), 1, "the owner is another one");
    const tokens = [1, 2].map((n) => tokenOf(assignment(n)));
    stage.bus.deliver(OTHER, [{ kind: "ACK", workerId: "worker-1", tokens }]);
    stage.runtime.advance(10_000);
    assert.equal(asked(), 0);
  });

  it("of credits comes in messages of bounded size", () => {
    const stage = new Stage();
    stage.own();
    for (let n = 0; n < 2_001; n++) stage.connect().hello({ workerId: `worker-${n}` });
    stage.forgetReports();
    stage.runtime.advance(1_000);
    assert.deepEqual(
      stage.reportsOf("CREDITS").map(({ roll: isRoll, credits }) => [isRoll, credits.length]),
      [
        [true, 2_000],
        [true, 1],
      ],
    );
  });
});

/** Number of the first account that the owner got. */
function accountOf(node: string): number {
  return node === NODE ? 1 : 2;
}

const RECALL_OF = Object.fromEntries(
  [NODE, OTHER].map((node) => [
    node,
    { kind: "RECALL", term: 1, workers: [{ workerId: "worker-1", account: accountOf(node) }] },
  ]),
);

/** Two owners and a worker. */
function stageOfTwo(slots = 1): { stage: Stage; worker: WorkerEnd } {
  const stage = new Stage();
  stage.own(NODE, 1, [0, 1, 2, 3, 4, 5, 6, 7]);
  stage.own(OTHER, 1, [8, 9, 10, 11, 12, 13, 14, 15]);
  const worker = stage.connect().hello({ slots, prefetch: 0 });
  return { stage, worker };
}

function stageOfOne(slots: number): { stage: Stage; worker: WorkerEnd } {
  const stage = new Stage();
  stage.own();
  const worker = stage.connect().hello({ slots, prefetch: 0 });
  stage.forgetReports();
  return { stage, worker };
}

/** The owner that the slot is allocated to, and the other one. */
function holderFirst(stage: Stage): [holder: string, other: string] {
  const holds = (node: string) => stage.credits(node).length > 0;
  const [mine, others] = [holds(NODE), holds(OTHER)];
  assert.notEqual(mine, others);
  return mine ? [NODE, OTHER] : [OTHER, NODE];
}

/** Lets the owner of the credit use it. @returns the owner that gets the slot next */
function runOne(
  stage: Stage,
  worker: WorkerEnd,
  work: { owner: string; sent: Record<string, number> },
  n: number,
): string {
  const number = (work.sent[work.owner] ?? 0) + 1;
  work.sent[work.owner] = number;
  stage.assignFrom(work.owner, assignment(n, { account: accountOf(work.owner), credit: number }));
  worker.finish(...worker.assigns.slice(-1));
  [work.owner] = holderFirst(stage);
  return work.owner;
}

function voided(node: string, number: number) {
  return { kind: "VOID", workerId: "worker-1", account: accountOf(node), credits: [number] } as const;
}

/** Content of the next full sync. */
function fullSync(stage: Stage) {
  stage.forgetReports();
  stage.runtime.advance(1_000);
  const credits = stage.reportsOf("CREDITS").flatMap((message) => (message.roll ? message.credits : []));
  return credits.map(({ free: _free, stuck: _stuck, ...credit }) => credit);
}
