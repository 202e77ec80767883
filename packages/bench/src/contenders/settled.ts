import { nowMs, until } from "../clock.ts";
import type { Database } from "../services/postgres.ts";
import type { Recount, SettleOptions } from "./contender.ts";
import { Stillness } from "./stillness.ts";

/** Default of the longest wait for the store after all handlers have run, in milliseconds. */
const SETTLED_WITHIN_MS = 180_000;
/** Interval of questions about the number of writes, in milliseconds. A question takes some tens of microseconds, however many jobs there are. */
const ASK_EVERY_MS = 5;

interface Settling extends SettleOptions {
  /** Number of finished jobs to wait for. */
  finished: number;
  recount(finished: number): Promise<Recount>;
}

/**
 * Waits until a PostgreSQL has this number of finished jobs and no unfinished ones but those that are stuck. A recount reads all rows, so it
 * happens only when nothing was written for a moment.
 * @returns time of the question that first saw the last write, in milliseconds since 1970
 * @throws the jobs have not finished in time
 */
export async function settledStore(database: Pick<Database, "writes">, settling: Settling): Promise<number> {
  const { finished, recount, atRest } = settling;
  const stillness = new Stillness(nowMs());
  return await settled(settling, ASK_EVERY_MS, async (tell) => {
    const askedAtMs = nowMs();
    if (!stillness.seen(await database.writes(), askedAtMs)) return null;
    const { changedAtMs } = stillness;
    await atRest();
    return isComplete(tell(await recount(finished)), settling) ? changedAtMs : null;
  });
}

/**
 * Asks a store whose recount is cheap, until it has this number of finished jobs.
 * @returns time of the question with that answer, in milliseconds since 1970
 */
export async function settledByAsking(askEveryMs: number, settling: Settling): Promise<number> {
  const { finished, recount, atRest } = settling;
  const askedAtMs = await settled(settling, askEveryMs, async (tell) => {
    const atMs = nowMs();
    return isComplete(tell(await recount(finished)), settling) ? atMs : null;
  });
  await atRest();
  return askedAtMs;
}

function isComplete(counted: Recount, { finished, stuck }: Settling): boolean {
  return counted.unfinished === stuck && counted.finished >= finished;
}

async function settled(
  { finished, withinMs = SETTLED_WITHIN_MS }: Settling,
  askEveryMs: number,
  probe: (tell: (counted: Recount) => Recount) => Promise<number | null>,
): Promise<number> {
  let last: Recount | null = null;
  try {
    return await until(`the end of ${finished} jobs`, withinMs, askEveryMs, () => probe((counted) => (last = counted)));
  } catch (error) {
    throw new Error(`${(error as Error).message}; counted last: ${JSON.stringify(last)}`, { cause: error });
  }
}
