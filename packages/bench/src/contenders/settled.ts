import { nowMs, until } from "../clock.ts";
import type { Recount } from "./contender.ts";

/** All handlers have run by then. */
const SETTLED_WITHIN_MS = 180_000;

/** Around the first answer that said so; milliseconds since 1970. */
interface Settled {
  askedAtMs: number;
  answeredAtMs: number;
}

/** Asks a store until it has that many finished and none unfinished. @throws it does not within three minutes */
export async function settled(
  finished: number,
  askEveryMs: number,
  recount: (finished: number) => Promise<Recount>,
): Promise<Settled> {
  let counted: Recount | null = null;
  const probe = async () => {
    const askedAtMs = nowMs();
    counted = await recount(finished);
    const isSettled = counted.unfinished === 0 && counted.finished >= finished;
    return isSettled ? { askedAtMs, answeredAtMs: nowMs() } : null;
  };
  try {
    return await until(`the end of ${finished} jobs`, SETTLED_WITHIN_MS, askEveryMs, probe);
  } catch (error) {
    throw new Error(`${(error as Error).message}; counted last: ${JSON.stringify(counted)}`, { cause: error });
  }
}
