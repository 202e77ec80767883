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
export function settled(
  finished: number,
  askEveryMs: number,
  recount: (finished: number) => Promise<Recount>,
): Promise<Settled> {
  return until(`the end of ${finished} jobs`, SETTLED_WITHIN_MS, askEveryMs, async () => {
    const askedAtMs = nowMs();
    const counted = await recount(finished);
    const isSettled = counted.unfinished === 0 && counted.finished >= finished;
    return isSettled ? { askedAtMs, answeredAtMs: nowMs() } : null;
  });
}
