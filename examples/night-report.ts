import { type Client, task } from "@mainspring/sdk";

/** Fetches the sales of a shop. Your application has its own way. */
export type FetchSales = (day: string, shop: string, signal: AbortSignal) => Promise<number>;

interface Night {
  day: string;
  shops: string[];
}

/**
 * A table that remembers which attempt wrote a row. An attempt that timed out, or whose worker was lost, may still run
 * beside its successor. Its late writes must not replace those of the successor.
 */
export class FencedTable {
  readonly #rows = new Map<string, { value: number; execution: string; attempt: number }>();

  /**
   * In SQL: `INSERT … ON CONFLICT (key) DO UPDATE SET … WHERE (t.execution, t.attempt) <= (excluded.execution,
   * excluded.attempt)`. Ids of later executions are greater.
   * @param fence `ctx.fence` of the attempt that writes
   * @returns whether it was written
   */
  write(key: string, value: number, fence: string): boolean {
    const [execution = "", number] = fence.split(":");
    const attempt = Number(number);
    const row = this.#rows.get(key);
    if (row !== undefined && (row.execution > execution || (row.execution === execution && row.attempt > attempt)))
      return false;
    this.#rows.set(key, { value, execution, attempt });
    return true;
  }

  read(key: string): number | undefined {
    return this.#rows.get(key)?.value;
  }
}

const MINUTE_MS = 60_000;

/** The steps of a night: the first collects sales shop by shop, the second adds them up. */
export function nightTasks(fetchSales: FetchSales, sales: FencedTable) {
  const collect = task({
    name: "collect-sales",
    retry: { maxAttempts: 6, backoff: "EXPONENTIAL", initialDelayMs: MINUTE_MS, jitter: false },
    run: async ({ day, shops }: Night, ctx) => {
      for (const [index, shop] of shops.entries()) {
        const key = `${day}/${shop}`;
        // Skip the shops whose sales an earlier attempt has collected.
        if (sales.read(key) !== undefined) continue;
        ctx.progress(index / shops.length, shop);
        const sum = await fetchSales(day, shop, ctx.signal);
        if (!sales.write(key, sum, ctx.fence)) throw new Error("another attempt has taken over");
      }
    },
  });
  const addUp = task({
    name: "add-up-sales",
    run: ({ day, shops }: Night) => shops.reduce((sum, shop) => sum + (sales.read(`${day}/${shop}`) ?? 0), 0),
  });
  return { collect, addUp };
}

/**
 * Runs the steps of one night; a timer of the application calls it. A second call for the same night is safe, even after
 * a crash or after the first call has ended: because of the idempotency keys each step runs once.
 * @returns the day's total
 * @throws {ExecutionFailed} a step used up its attempts; it is on the list of dead letters
 */
export async function runNight(client: Client, steps: ReturnType<typeof nightTasks>, night: Night): Promise<number> {
  const collected = await steps.collect.submit(client, night, {
    idempotencyKey: `collect:${night.day}`,
    timeoutSec: 600,
  });
  await collected.result();
  const added = await steps.addUp.submit(client, night, { idempotencyKey: `add-up:${night.day}` });
  return added.result();
}
