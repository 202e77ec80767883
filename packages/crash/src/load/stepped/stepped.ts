import type { SeededRandom } from "../../seeded-random.ts";
import { type Draft, exactly, FAST_RETRY, type Kind } from "../kinds.ts";

/**
 * A job whose handler runs steps, writes checkpoints, sleeps without a slot and waits for signals. Only signallers submit
 * it, because customers may die before they have sent the signals.
 */
export const STEPPED: Kind = { name: "stepped", weight: 0, draft };

const FAILS = 0.3;

function draft(random: SeededRandom): Draft {
  const failTimes = random.chance(FAILS) ? 1 : 0;
  const walk = {
    effectMs: random.between(100, 1_200),
    // A handler is suspended for a sleep of 5 s or more.
    sleepMs: random.between(5_050, 5_600),
    answerWithinMs: random.between(500, 4_000),
    failTimes,
  };
  return {
    work: { workMs: 0, walk },
    // A backlog of other jobs must not hold up the walk, or every signal would come before its wait.
    options: { priority: "CRITICAL", retryPolicy: { ...FAST_RETRY, maxAttempts: 4 } },
    expected: { failures: exactly(failTimes), maxAttempts: 4 },
  };
}
