import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { simulate } from "@mainspring/testkit";
import { type Batch, importTask } from "./csv-import.ts";

// Beside these tests, `packages/cli/test/examples.test.ts` kills the worker of `csv-import-worker.ts` in the middle of a file.

const ROWS = 50_000;

/** Writes a file of rows `number,name,amount`. */
async function csvFile(t: TestContext, rows: number, name = (row: number) => `Bücher ${row}`) {
  const folder = await mkdtemp(join(tmpdir(), "mainspring-csv-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "large.csv");
  await writeFile(file, Array.from({ length: rows }, (_, row) => `${row},${name(row)},${row * 3}\n`).join(""));
  return file;
}

/** A table with rows by number, which fails where the test says so. */
class Table {
  readonly rows = new Map<number, string[]>();
  batches = 0;
  failsAt = new Set<number>();

  readonly insert = async ({ first, rows }: Batch) => {
    if (this.failsAt.delete(++this.batches)) throw new Error("the database does not answer");
    for (const [index, row] of rows.entries()) this.rows.set(first + index, row);
  };
}

test("an import that fails goes on at its last batch, and has every row once", async (t) => {
  const table = new Table();
  table.failsAt = new Set([9, 14]);
  const task = importTask(table.insert);
  await using m = await simulate({ tasks: [task] });

  const job = await task.submit(m.client, { file: await csvFile(t, ROWS) });
  const { result, failures } = await m.waitFor<{ rows: number; startedAt: number }>(job);
  assert.equal(failures, 2);
  assert.equal(result?.rows, ROWS);
  assert.ok((result?.startedAt ?? 0) > 20_000, "the third attempt began far behind the first row");
  assert.equal(table.rows.size, ROWS);
  assert.deepEqual(table.rows.get(49_999), ["49999", "Bücher 49999", "149997"]);
  assert.equal(
    [...table.rows].every(([number, row]) => row[0] === String(number)),
    true,
  );
  // Each batch was read once, and those that failed once more.
  const { checkpoint } = await m.client.getExecutionSteps(job.executionId);
  assert.equal((checkpoint?.data as { row: number } | undefined)?.row, ROWS);
  assert.ok(table.batches <= 26, `${table.batches}`);
});

test("a row that is longer than a batch is named, and an empty file has no rows", async (t) => {
  const task = importTask(new Table().insert);
  await using m = await simulate({ tasks: [task] });

  const file = await csvFile(t, 2, () => "x".repeat(70_000));
  const dead = await m.waitFor(await task.submit(m.client, { file }, { retryPolicy: { maxAttempts: 1 } }), "DEAD");
  assert.match(dead.error?.message ?? "", /has a row of more than 65536 bytes at byte 0$/);
  const { result } = await m.waitFor(await task.submit(m.client, { file: await csvFile(t, 0) }));
  assert.deepEqual(result, { rows: 0, startedAt: 0 });
});
