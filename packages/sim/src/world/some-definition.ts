import type { JobIntake } from "@mainspring/server/testing";
import type { Dice } from "../dice.ts";
import { HANDLERS, type Work } from "./sim-worker.ts";

export type ReceivedJob = Parameters<JobIntake["take"]>[0][number];

/**
 * A job of the dice's choosing. Its payload says which handler is to get it and with which budget, so that a mixture of two
 * definitions is seen where it runs.
 * @param keys what all definitions of one job have in common
 */
export function someDefinition(
  dice: Dice,
  text: string,
  keys: Pick<ReceivedJob["job"], "name" | "concurrencyKey" | "concurrencyLimit" | "uniqueKey">,
): ReceivedJob {
  const handler = dice.chance(0.1) ? HANDLERS[1] : HANDLERS[0];
  const maxAttempts = dice.between(1, 5);
  const work: Work = {
    runMs: dice.chance(0.1) ? dice.between(1_000, 40_000) : dice.between(0, 300),
    failTimes: dice.chance(0.1) ? dice.between(1, 4) : 0,
    blockMs: dice.chance(0.005) ? dice.between(500, 40_000) : 0,
    isPoison: dice.chance(0.01),
    stubborn: dice.chance(0.05),
    hangs: dice.fork("hangs").chance(0.004),
    definition: { text, handler, maxAttempts },
  };
  return {
    job: {
      target: { handler, ...(handler === "gpu-only" && { requires: ["gpu"] }) },
      priority: dice.between(0, 9),
      ...(dice.chance(0.2) && { delayMs: dice.between(1, 60_000) }),
      ...keys,
      retryPolicy: { maxAttempts, initialDelayMs: dice.between(0, 5_000), maxDelayMs: 20_000 },
      timeoutSec: dice.between(1, 30),
      cancelGraceSec: dice.between(0, 3),
    },
    payload: Buffer.from(JSON.stringify(work)),
  };
}
