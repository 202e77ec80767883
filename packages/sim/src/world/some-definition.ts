import type { JobIntake } from "@mainspring/server/testing";
import type { SeededRandom } from "@mainspring/testkit/time";
import { HANDLERS, type Work, type WorkWait } from "./sim-worker.ts";

export type ReceivedJob = Parameters<JobIntake["take"]>[1][number];

/**
 * Creates a random job. Its payload names its handler and budget, so that a mixture of two definitions is visible where
 * it runs.
 * @param keys fields that all definitions of one job share
 * @param waitMaxMs longest sleep of the handler, and longest wait for a signal, in simulated milliseconds
 */
export function someDefinition(
  random: SeededRandom,
  text: string,
  keys: Pick<ReceivedJob["job"], "name" | "concurrencyKey" | "concurrencyLimit" | "uniqueKey">,
  waitMaxMs = Number.POSITIVE_INFINITY,
): ReceivedJob {
  const handler = random.chance(0.1) ? HANDLERS[1] : HANDLERS[0];
  const maxAttempts = random.between(1, 5);
  const work: Work = {
    runMs: random.chance(0.1) ? random.between(1_000, 40_000) : random.between(0, 300),
    failTimes: random.chance(0.1) ? random.between(1, 4) : 0,
    blockMs: random.chance(0.005) ? random.between(500, 40_000) : 0,
    isPoison: random.chance(0.01),
    stubborn: random.chance(0.05),
    hangs: random.fork("hangs").chance(0.004),
    steps: stepsOf(random.fork("steps")),
    waits: waitsOf(random.fork("waits"), waitMaxMs),
    definition: { text, handler, maxAttempts },
  };
  return {
    job: {
      target: { handler, ...(handler === "gpu-only" && { requires: ["gpu"] }) },
      priority: random.between(0, 9),
      ...(random.chance(0.2) && { delayMs: random.between(1, 60_000) }),
      ...keys,
      retryPolicy: { maxAttempts, initialDelayMs: random.between(0, 5_000), maxDelayMs: 20_000 },
      timeoutSec: random.between(1, 30),
      ...lifetimeOf(random.fork("lifetime"), work),
      cancelGraceSec: random.between(0, 3),
    },
    payload: Buffer.from(JSON.stringify(work)),
  };
}

/** Executions that wait have short lives now and then, and a few others. */
function lifetimeOf(random: SeededRandom, { waits }: Work): Pick<ReceivedJob["job"], "maxLifetimeSec"> {
  if (!random.chance(waits.length > 0 ? 0.4 : 0.05)) return {};
  return { maxLifetimeSec: random.between(5, random.pick([30, 300])) };
}

function stepsOf(random: SeededRandom): number {
  return random.chance(0.2) ? random.between(1, 4) : 0;
}

export function waitsOf(random: SeededRandom, waitMaxMs: number): WorkWait[] {
  if (!random.chance(0.15)) return [];
  return Array.from({ length: random.between(1, 3) }, () => {
    const longest = random.pick([5_000, 60_000, 600_000]);
    const forMs = Math.min(random.between(0, longest), waitMaxMs);
    if (random.chance(0.5)) return { forMs, signalsAfterMs: null };
    // A signal may come before the wait, after it, or not at all.
    const signalsAfterMs = Array.from({ length: random.between(0, 2) }, () => random.between(0, 60_000));
    return { forMs, signalsAfterMs };
  });
}
