import { open } from "node:fs/promises";
import { task } from "@mainspring/sdk";

/** Rows of a file, with the number of the first one. */
export interface Batch {
  first: number;
  rows: string[][];
}

/**
 * Writes rows under their numbers, where a repeat replaces what is there: `INSERT … ON CONFLICT (number) DO UPDATE …`. The
 * last batch before a worker is lost may come twice, because it was written and its checkpoint was not.
 */
export type Insert = (batch: Batch, signal: AbortSignal) => Promise<void>;

/** How far the import has come: the position in the file, and the number of rows before it. */
interface Position {
  byte: number;
  row: number;
}

/** Size of a batch, in bytes. A row must not be longer. */
const BATCH_BYTES = 64 * 1024;

/**
 * Imports a large CSV file batch by batch, one row a line. An attempt that follows a lost worker, a deploy or a failure goes on
 * where the last checkpoint was, at its byte of the file, and reads nothing before it.
 */
export function importTask(insert: Insert) {
  return task({
    name: "import-csv",
    timeoutSec: 3_600,
    retry: { maxAttempts: 5, backoff: "EXPONENTIAL", initialDelayMs: 5_000 },
    run: async ({ file }: { file: string }, ctx) => {
      const start = (ctx.checkpoint.last ?? { byte: 0, row: 0 }) as Position;
      ctx.log(`attempt ${ctx.attempt} begins at row ${start.row}`);
      let at = start;
      for await (const { lines, end, size } of batchesOf(file, start.byte)) {
        ctx.signal.throwIfAborted();
        const rows = lines.map((line) => line.split(","));
        await insert({ first: at.row, rows }, ctx.signal);
        at = { byte: end, row: at.row + rows.length };
        await ctx.checkpoint(at);
        ctx.progress(end / size, `${at.row} rows`);
      }
      return { rows: at.row, startedAt: start.row };
    },
  });
}

/** Whole lines of a file from a position on. `end`: position behind them, `size`: length of the file, both in bytes. */
async function* batchesOf(path: string, from: number) {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(BATCH_BYTES);
    for (let at = from; at < size; ) {
      const { bytesRead } = await file.read(buffer, 0, BATCH_BYTES, at);
      const isLast = at + bytesRead >= size;
      const length = isLast ? bytesRead : buffer.lastIndexOf("\n", bytesRead - 1) + 1;
      if (length === 0) throw new Error(`${path} has a row of more than ${BATCH_BYTES} bytes at byte ${at}`);
      at += length;
      const lines = buffer.toString("utf8", 0, length).split(/\r?\n/);
      yield { lines: lines.filter((line) => line !== ""), end: at, size };
    }
  } finally {
    await file.close();
  }
}
