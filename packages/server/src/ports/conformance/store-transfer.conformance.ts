import { TENANT_DEFAULTS } from "../../domain/tenant.ts";
import type { NewJob, RowChange } from "../store.ts";
import type { NewPart, NewWorkflow } from "../store-runs.ts";
import { type StoreTransfer, TRANSFER_KINDS, type TransferKind, type TransferRow } from "../store-transfer.ts";
import { fire, planned } from "./recurring-scene.conformance.ts";
import { birth, nodeEnds, nodeId, started } from "./runs-scene.conformance.ts";
import { type Scene, TENANT } from "./store-scene.conformance.ts";

/** Executions of a store with rows of every kind. */
export interface Furnished {
  waiting: NewJob;
  running: NewJob;
  assigned: NewJob;
  dead: NewJob;
  settled: NewJob;
  ended: NewJob;
  workflow: NewWorkflow;
}

const error = { type: "Error", message: "it broke", stack: null, retryable: true } as unknown as RowChange["error"];

/** Writes rows of every kind that a transfer moves, in every state that an owner treats in its own way. */
export async function furnish(scene: Scene): Promise<Furnished> {
  const { store, runtime } = scene;
  const now = runtime.now();
  await furnishSettings(scene);
  const waiting = await scene.submitted({
    ...{ scheduledAt: now + 3_600_000, uniqueKey: "waiting", name: "one", labels: { a: "b" }, concurrencyKey: "c" },
    payload: Buffer.alloc(3_000, "x"),
  });
  const keyed = { tenant: "default", key: "request 1", requestHash: "hash" };
  await store.submit([{ idempotency: keyed, jobs: [scene.job({ payload: Buffer.from('"small"') })] }]);
  const [running, assigned] = [await scene.submitted({ payload: Buffer.from("1") }), await scene.submitted()];
  await scene.applied(running.shard, { changes: [scene.running(running, { attempt: 3, failures: 1, lost: 1 })] });
  await scene.applied(assigned.shard, { assigned: [scene.entry(assigned)] });
  const [dead, settled, ended] = [await scene.submitted(), await scene.submitted(), await scene.submitted()];
  for (const job of [dead, settled])
    await scene.applied(job.shard, { changes: [scene.succeeded(job, { state: "DEAD", error, reason: "EXHAUSTED" })] });
  const discarded = {
    tenant: TENANT,
    action: "DISCARD",
    executionIds: [settled.executionId],
    newIds: [runtime.uuid()],
  } as const;
  await store.deadLetters.settle({ ...discarded, at: now });
  await scene.applied(ended.shard, { changes: [scene.succeeded(ended, { result: Buffer.alloc(2_000, "r") })] });
  const step = { executionId: running.executionId, name: "paid", kind: "RESULT", attempt: 1, number: 1 } as const;
  const consumed = { id: "s1", name: "go", data: Buffer.from("1"), at: now };
  for (const signal of [consumed, { id: "s2", name: "go", data: null, at: now }])
    await store.steps.addSignal(running.executionId, signal, {
      ...{ id: runtime.uuid(), shard: running.shard, executionId: running.executionId, kind: "SIGNAL" },
    });
  await scene.applied(running.shard, { steps: [{ ...step, at: now, data: Buffer.from("[1]"), signalId: "s1" }] });
  const line = { at: now, level: "info", line: "漢字 and \u0007" };
  await store.logs.keep([
    { executionId: ended.executionId, attempt: 1, part: now, lines: [line], received: 7 },
    { executionId: running.executionId, attempt: 3, part: 1, lines: [line, line], received: 2 },
  ]);
  await store.addCommand({
    id: runtime.uuid(),
    shard: waiting.shard,
    kind: "CANCEL",
    executionId: waiting.executionId,
  });
  return { waiting, running, assigned, dead, settled, ended, workflow: await furnishPlans(scene) };
}

async function furnishSettings({ store, runtime }: Scene): Promise<void> {
  const now = runtime.now();
  const actor = { kind: "SYSTEM", keyId: "store", for: null } as const;
  const note = {
    ...{ tenant: "default", actor, action: "createTenant", target: "acme" },
    ...{ requestId: null, address: null, detail: { b: 1, a: "x" } },
    outcome: "DONE",
  } as const;
  await store.tenants.create({ ...TENANT_DEFAULTS, name: "acme", createdAt: now, maxRunning: 5, pools: ["p*"] }, note);
  await store.tenants.bind({ kind: "TOPIC", name: "orders" }, "acme");
  await store.putPool({ name: "gpu", maxRunning: 3, paused: true });
  await store.putPool({ name: "acme\u001fown", headroom: 10 });
  await store.keys.create({
    ...{ id: runtime.uuid(), tenant: null, kind: "OPERATOR", scopes: ["OPERATE"], pools: ["*"], certificateId: null },
    ...{ name: "k", hint: "ms…1", createdAt: now, createdBy: "store", expiresAt: null, replaces: null },
    hash: Buffer.alloc(32, 7).toString("base64"),
  } as never);
  const handler = { pool: "default", handler: "echo", isHome: true, policies: '{"timeoutMs":5}', isNews: true };
  await store.handlers.keep([handler], now);
  const zones = { version: "2026a", releasedOn: "2026-01-02", zones: { "Europe/Berlin": "AAAA" } };
  await store.timeZones.changeOver(1, "2026a", zones, 0);
  await store.ingest.open(runtime.uuid(), [0, 3]);
  const [webhook, url] = [runtime.uuid(), "https://receiver.example/hook"];
  const filter = { types: [], handlers: ["echo"] } as never;
  await store.webhooks.create({ id: webhook, tenant: TENANT, url, filter, secret: "sealed" }, now);
  const event = { id: "e1", type: "execution.succeeded", tenant: TENANT, at: now } as never;
  await store.webhooks.addDeliveries([{ id: runtime.uuid(), webhook, url, event, shard: 9 }], now);
}

async function furnishPlans(scene: Scene): Promise<NewWorkflow> {
  const job = await planned(scene, { name: "nightly", payload: Buffer.from("{}"), uniqueKey: "nightly" });
  const { firstFireAt: at } = job;
  const skips = [{ from: at - 7_200_000, to: at - 3_600_000, count: 2, reason: "MISFIRE" } as const];
  await scene.applied(job.shard, { plans: [fire(scene, job, { skips })] });
  const nested = { id: scene.runtime.uuid(), nodes: 1, graph: Buffer.from("sub"), definitions: Buffer.from("d") };
  const workflow = await started(scene, {
    ...{ name: "flow", payload: Buffer.from('"run"'), output: Buffer.from('"out"'), uniqueKey: "flow" },
    nested: [{ ...nested, output: null, payloads: [] }],
  });
  const spawn: NewPart = {
    ...{
      run: workflow.executionId,
      spawner: 0,
      first: 4,
      nodes: 2,
      graph: Buffer.from("part"),
      definitions: Buffer.from("p"),
    },
    payloads: [{ node: 5, payload: Buffer.from("5") }],
  };
  await scene.applied(workflow.shard, {
    changes: [nodeEnds(scene, workflow, 0, { spawn, branch: "left" })],
    births: [birth(scene, workflow, 4, [0]), birth(scene, workflow, 2, [0], { item: 1 })],
    runs: [
      {
        run: workflow.executionId,
        wasRevision: 1,
        revision: 2,
        mode: "FAILING",
        paused: true,
        mapCounts: [{ node: 2, items: 3 }],
      },
    ],
  });
  const signal = { id: "n", name: "late", data: null, at: scene.runtime.now() };
  const ofNode = { run: workflow.executionId, node: 3 };
  await scene.store.steps.addSignal(nodeId(workflow.executionId, 3), signal, {
    ...{
      id: scene.runtime.uuid(),
      shard: workflow.shard,
      executionId: nodeId(workflow.executionId, 3),
      kind: "SIGNAL",
      ofNode,
    },
  });
  return workflow;
}

/** All rows of a store by kind, in an order that does not depend on the store. */
export async function allRows(store: StoreTransfer): Promise<Map<TransferKind, TransferRow[]>> {
  const all = new Map<TransferKind, TransferRow[]>();
  for (const kind of TRANSFER_KINDS) {
    const rows: TransferRow[] = [];
    for await (const portion of store.rows(kind)) rows.push(...portion.map(comparable));
    rows.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    all.set(kind, rows);
  }
  return all;
}

/** The row with sorted fields and bytes as text. */
function comparable(row: TransferRow): TransferRow {
  const sorted = (_: string, value: unknown) => {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  };
  return JSON.parse(JSON.stringify(row, sorted)) as TransferRow;
}
