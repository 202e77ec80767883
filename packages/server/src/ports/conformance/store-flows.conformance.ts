import assert from "node:assert/strict";
import { it } from "node:test";
import { type Flow, flowName } from "../../domain/flow.ts";
import type { DueCursor } from "../store-flows.ts";
import { planned } from "./recurring-scene.conformance.ts";
import { ALL_SHARDS, type Scene } from "./store-scene.conformance.ts";

const RETENTION = { days: 30, deadDays: 90 };

/** Reads by turns of flows, once upkeep has made the store ready for them. */
export function flowsConformance(scene: () => Scene): void {
  testExecutions(scene);
  testPlans(scene);
}

/** All flows, read page by page, by the order of their names. */
async function all(read: (after: Flow | null, limit: number) => Promise<Flow[] | null>): Promise<string[]> {
  const found: Flow[] = [];
  for (;;) {
    const page = await read(found.at(-1) ?? null, 2);
    assert.ok(page !== null, "upkeep has made the index");
    found.push(...page);
    if (page.length < 2) return found.map(flowName).sort();
  }
}

function testExecutions(scene: () => Scene): void {
  it("names the flows of rows that wait, and reads pages of them, the earliest first", async () => {
    const { store, runtime } = scene();
    const now = runtime.now();
    const job = (pool: string, dueInMs: number, tenant?: string) =>
      scene().job({ pool, createdAt: now, scheduledAt: now + dueInMs, ...(tenant !== undefined && { tenant }) });
    const [a1, a2, a3] = [job("a", 1), job("a", 2), job("a", 2)].sort((x, y) =>
      x.executionId < y.executionId ? -1 : 1,
    ) as [ReturnType<typeof job>, ReturnType<typeof job>, ReturnType<typeof job>];
    const [other, b] = [job("a", 5, "acme"), job("b", 9)];
    const jobs = [a3, b, a2, other, a1, job("later", 60_000), scene().job({ pool: "ready" })];
    await store.submit([{ idempotency: null, jobs }]);
    await store.maintain(now, RETENTION);

    const flowsUntil = (until: number) => all((after, limit) => store.waitingFlows(now + until, after, limit));
    const [ofA, ofAcme, ofB] = [a1, other, b].map(({ tenant, definition: { pool } }) => ({ tenant, pool })) as [
      Flow,
      Flow,
      Flow,
    ];
    assert.deepEqual(await flowsUntil(9), [ofA, ofAcme, ofB].map(flowName).sort());
    assert.deepEqual(await flowsUntil(4), [flowName(ofA)]);

    const inOrder = [a1, a2, a3].sort((x, y) => x.definition.scheduledAt - y.definition.scheduledAt);
    const expected = inOrder.map(({ executionId }) => executionId);
    const read = async (flows: readonly Flow[], after: DueCursor | null, limit: number, shards = ALL_SHARDS) => {
      const pages = flows.map((flow) => ({ flow, after }));
      return (await store.readFlows(shards, now + 9, pages, limit)).map((page) => page.map(({ id }) => id));
    };
    assert.deepEqual(await read([ofB, ofA, { tenant: "nobody", pool: "x" }, ofAcme], null, 2), [
      [b.executionId],
      expected.slice(0, 2),
      [],
      [other.executionId],
    ]);
    const last = inOrder[1] as typeof a1;
    const after = { dueAt: last.definition.scheduledAt, id: last.executionId };
    assert.deepEqual(await read([ofA], after, 2), [expected.slice(2)]);
    assert.deepEqual(
      await read(
        [ofB],
        null,
        2,
        [...ALL_SHARDS].filter((shard) => shard !== b.shard),
      ),
      [[]],
    );
    const [[row] = []] = await store.readFlows(ALL_SHARDS, now + 9, [{ flow: ofAcme, after: null }], 9);
    assert.deepEqual(
      [row],
      await store
        .readWaiting([other.shard], now + 9, 9)
        .then((rows) => rows.filter(({ id }) => id === other.executionId)),
    );
  });
}

function testPlans(scene: () => Scene): void {
  it("names the flows of plans that fire soon, and reads pages of them, the earliest first", async () => {
    const { store, runtime } = scene();
    const { recurrences } = store;
    const now = runtime.now();
    const [a1, a2] = [
      await planned(scene(), { pool: "a", firstFireAt: now + 1 }),
      await planned(scene(), { pool: "a", firstFireAt: now + 2 }),
    ];
    const acme = await planned(scene(), { pool: "a", firstFireAt: now + 2, tenant: "acme" });
    await planned(scene(), { pool: "later", firstFireAt: now + 60_000 });
    await store.maintain(now, RETENTION);
    const [ofA, ofAcme] = [a1, acme].map(({ tenant }) => ({ tenant, pool: "a" })) as [Flow, Flow];
    const flowsUntil = (until: number) => all((after, limit) => recurrences.dueFlows(now + until, after, limit));
    assert.deepEqual(await flowsUntil(2), [ofA, ofAcme].map(flowName).sort());
    assert.deepEqual(await flowsUntil(1), [flowName(ofA)]);
    const read = async (flow: Flow, after: DueCursor | null, limit: number) => {
      const [, page = []] = await recurrences.readDueFlows(
        ALL_SHARDS,
        now + 9,
        [
          { flow: ofAcme, after },
          { flow, after },
        ],
        limit,
      );
      return page;
    };
    assert.deepEqual(await read(ofA, null, 9), await recurrences.load([a1.jobId, a2.jobId]));
    assert.deepEqual(
      (await read(ofA, null, 1)).map(({ jobId }) => jobId),
      [a1.jobId],
    );
    const after = { dueAt: now + 1, id: a1.jobId };
    assert.deepEqual(
      (await read(ofA, after, 9)).map(({ jobId }) => jobId),
      [a2.jobId],
    );
  });

  it("moves a plan with its job into the flow of another pool", async () => {
    const { store, runtime } = scene();
    const now = runtime.now();
    const job = await planned(scene(), { pool: "a", firstFireAt: now + 1 });
    await store.maintain(now, RETENTION);
    const { tenant, definition, payload, jobId } = job;
    const asked = { tenant, jobId, definition: { ...definition, pool: "b" }, payload, ifVersion: null };
    await store.jobs.replace({ ...asked, commandId: runtime.uuid(), at: now });
    assert.deepEqual(await store.recurrences.dueFlows(now + 9, null, 9), [{ tenant, pool: "b" }]);
  });
}
