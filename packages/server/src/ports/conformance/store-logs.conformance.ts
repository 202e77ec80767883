import assert from "node:assert/strict";
import { it } from "node:test";
import { type LogPart, PARTS_KEPT_MAX } from "../store-logs.ts";
import type { Scene } from "./store-scene.conformance.ts";

const DAY_MS = 86_400_000;
const RETENTION = { days: 30, deadDays: 90 };
const KIB = 1024;

export function logsConformance(scene: () => Scene): void {
  const logs = () => scene().store.logs;
  const part = (executionId: string, sample: Partial<LogPart> = {}): LogPart => {
    const lines = [{ at: 1_800_000_000_001, level: "warn", line: "one" }];
    return { executionId, attempt: 1, part: 1_800_000_000_001, lines, received: 1, ...sample };
  };

  it("keeps every field of the parts of an attempt, in the order of their numbers", async () => {
    const [job, other] = [await scene().submitted(), await scene().submitted()];
    const id = job.executionId;
    const lines = [
      { at: 1_800_000_000_003, level: "error", line: 'tab\t, quote ", backslash \\, escape \u001b[1m, end\nof line' },
      { at: 1_800_000_000_004, level: "", line: "" },
    ];
    const [first, second] = [
      part(id, { attempt: 3 }),
      part(id, { attempt: 3, part: 1_800_000_000_003, lines, received: 9 }),
    ];
    await logs().keep([second, part(other.executionId, { attempt: 3 }), first, part(id, { attempt: 2 })]);
    assert.deepEqual(await logs().read(id, 3), [first, second]);
    assert.deepEqual(await logs().read(id, 2), [part(id, { attempt: 2 })]);
    assert.deepEqual(await logs().read(id, 1), []);
    assert.deepEqual(await logs().read(other.executionId, 3), [part(other.executionId, { attempt: 3 })]);
  });

  it("keeps 64 KiB of text whose characters take several bytes, and a thousand parts in one write", async () => {
    const job = await scene().submitted();
    const texts = ["é".repeat(4 * KIB), "漢".repeat(2 * KIB), "🚀".repeat(2 * KIB), "\u0001".repeat(KIB)];
    const lines = Array.from({ length: 8 }, (_, at) => ({ at, level: "info", line: texts[at % 4] as string }));
    const large = part(job.executionId, { lines, received: 10 });
    const small = Array.from({ length: 1_000 }, (_, attempt) => part(job.executionId, { attempt: attempt + 2 }));
    await logs().keep([large, ...small]);
    assert.deepEqual(await logs().read(job.executionId, 1), [large]);
    assert.deepEqual(await logs().read(job.executionId, 1_001), small.slice(-1));
  });

  it("replaces a part by a later state of it; repeated and late writes change nothing", async () => {
    const { executionId } = await scene().submitted();
    const lines = [
      { at: 1, level: "info", line: "a" },
      { at: 2, level: "info", line: "b" },
    ];
    const [early, later] = [part(executionId), part(executionId, { lines, received: 5 })];
    for (const write of [early, later, later, early]) await logs().keep([write]);
    assert.deepEqual(await logs().read(executionId, 1), [later]);
  });

  it("leaves out parts of executions that it does not have, whatever their ids are, and keeps the others", async () => {
    const { executionId } = await scene().submitted();
    const unknown = [
      scene().runtime.uuid(),
      "00000000-0000-0000-0000-000000000000",
      "ffffffff-ffff-ffff-ffff-ffffffffffff",
    ];
    await logs().keep([...unknown.map((id) => part(id)), part(executionId)]);
    assert.deepEqual(await logs().read(executionId, 1), [part(executionId)]);
    for (const id of unknown) assert.deepEqual(await logs().read(id, 1), []);
    await logs().keep([]);
  });

  it("leaves out parts of workers that belong to another tenant than the execution", async () => {
    const { executionId } = await scene().submitted({ tenant: "acme" });
    await logs().keep([part(executionId, { tenant: "other" }), part(executionId, { attempt: 2, tenant: "default" })]);
    assert.deepEqual([await logs().read(executionId, 1), await logs().read(executionId, 2)], [[], []]);
    await logs().keep([part(executionId, { tenant: "acme" }), part(executionId, { attempt: 2 })]);
    assert.deepEqual(await logs().read(executionId, 1), [part(executionId)]);
    assert.deepEqual(await logs().read(executionId, 2), [part(executionId, { attempt: 2 })]);
  });

  it("keeps the last parts of an attempt whose worker changed its gateway again and again", async () => {
    const { executionId } = await scene().submitted();
    const parts = Array.from({ length: PARTS_KEPT_MAX + 5 }, (_, number) => part(executionId, { part: number + 1 }));
    for (const one of parts) await logs().keep([one]);
    await logs().keep(parts.slice(-1).map((last) => ({ ...last, received: 2 })));
    const kept = (await logs().read(executionId, 1)).map(({ part }) => part);
    assert.deepEqual(
      kept,
      parts.slice(-PARTS_KEPT_MAX).map(({ part }) => part),
    );
  });

  it("deletes lines together with their execution", async () => {
    const { store, runtime } = scene();
    const [over, living] = [await scene().submitted(), await scene().submitted()];
    await logs().keep([part(over.executionId), part(over.executionId, { attempt: 2 }), part(living.executionId)]);
    await scene().applied(over.shard, { changes: [scene().succeeded(over)] });
    const kept = async () => [
      (await logs().read(over.executionId, 1)).length + (await logs().read(over.executionId, 2)).length,
      (await logs().read(living.executionId, 1)).length,
    ];
    await store.maintain(runtime.now() + 29 * DAY_MS, RETENTION);
    assert.deepEqual(await kept(), [2, 1]);
    await store.maintain(runtime.now() + 31 * DAY_MS, RETENTION);
    assert.deepEqual(await kept(), [0, 1]);
    await logs().keep([part(over.executionId)]);
    assert.deepEqual(await kept(), [0, 1]);
  });
}
