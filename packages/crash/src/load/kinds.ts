import type { JobOptions } from "@mainspring/sdk";
import type { Dice } from "../dice.ts";
import type { Expected } from "../history/events.ts";
import type { Work } from "./work.ts";

/** One job of a kind: what is asked for, and what must come of it. Left out: a plain job that succeeds at once. */
export interface Draft {
  work: Omit<Work, "key">;
  options?: JobOptions;
  expected?: Partial<Expected>;
  /** Its cancellation is asked for so long after it was accepted. */
  cancelAfterMs?: number;
}

export interface Kind {
  /** Name of the kind and of its handler. */
  name: string;
  /** How often it comes, compared with the others. */
  weight: number;
  draft(dice: Dice): Draft;
}

const FAST_RETRY = { backoff: "FIXED", initialDelayMs: 200, jitter: false } as const;

export const KINDS: readonly Kind[] = [
  { name: "quick", weight: 30, draft: (dice) => ({ work: { workMs: dice.between(0, 50) } }) },
  {
    name: "prioritised",
    weight: 8,
    draft: (dice) => ({ work: { workMs: dice.between(0, 100) }, options: { priority: dice.between(0, 9) } }),
  },
  { name: "delayed", weight: 10, draft: delayed },
  { name: "slow", weight: 10, draft: (dice) => ({ work: { workMs: dice.between(2_000, 7_000) } }) },
  { name: "flaky", weight: 8, draft: flaky },
  {
    name: "doomed",
    weight: 3,
    draft: (dice) => ({
      work: { workMs: dice.between(0, 50), failTimes: 99 },
      options: { retryPolicy: { ...FAST_RETRY, maxAttempts: 2 } },
      expected: { state: "DEAD", failures: exactly(2), maxAttempts: 2 },
    }),
  },
  {
    name: "hopeless",
    weight: 3,
    draft: () => ({ work: { workMs: 10, hopeless: true }, expected: { state: "DEAD", failures: exactly(1) } }),
  },
  { name: "overlong", weight: 3, draft: overlong },
  { name: "fragile", weight: 4, draft: fragile },
  { name: "perishable", weight: 4, draft: perishable },
  { name: "keyed", weight: 10, draft: keyed },
  { name: "unique", weight: 6, draft: unique },
  { name: "cancelled", weight: 10, draft: cancelled },
  {
    name: "large",
    weight: 2,
    draft: (dice) => ({
      work: { workMs: 20, filler: String(dice.between(0, 9)).repeat(dice.between(50_000, 300_000)) },
    }),
  },
];

function delayed(dice: Dice): Draft {
  const delayMs = dice.between(200, 8_000);
  return { work: { workMs: dice.between(0, 100) }, options: { delayMs }, expected: { delayMs } };
}

function flaky(dice: Dice): Draft {
  const failTimes = dice.between(1, 3);
  return {
    work: { workMs: dice.between(0, 200), failTimes },
    options: { retryPolicy: { ...FAST_RETRY, maxAttempts: 4 } },
    expected: { failures: exactly(failTimes), maxAttempts: 4 },
  };
}

/** Its first try runs into the timeout and carries on nevertheless. On a busy machine the second may be slow too. */
function overlong(): Draft {
  return {
    work: { workMs: 10, firstWorkMs: 4_000 },
    options: { timeoutSec: 1, cancelGraceSec: 0.5, retryPolicy: { ...FAST_RETRY, maxAttempts: 20 } },
    expected: { failures: { least: 1, most: 19 }, maxAttempts: 20 },
  };
}

/** May lose its worker only once. */
function fragile(dice: Dice): Draft {
  const options: JobOptions = dice.chance(0.5) ? { maxLost: 1 } : { onWorkerLost: "DEAD" };
  return { work: { workMs: dice.between(500, 4_000) }, options, expected: { maxLost: 1 } };
}

function perishable(dice: Dice): Draft {
  const expiresMs = dice.between(1_000, 4_000);
  const startBefore = new Date(Date.now() + expiresMs);
  return { work: { workMs: dice.between(0, 300) }, options: { startBefore }, expected: { expiresMs } };
}

function keyed(dice: Dice): Draft {
  const limit = dice.between(1, 3);
  const concurrencyKey = `key-${limit}-${dice.between(1, 2)}`;
  return {
    work: { workMs: dice.between(50, 400) },
    options: { concurrencyKey, concurrencyLimit: limit },
    expected: { concurrency: { key: concurrencyKey, limit } },
  };
}

function unique(dice: Dice): Draft {
  const uniqueKey = `unique-${dice.between(1, 4)}`;
  return { work: { workMs: dice.between(100, 1_500) }, options: { uniqueKey }, expected: { uniqueKey } };
}

/** Before it is due, while it runs, or perhaps too late; a third of them does not care to stop. */
function cancelled(dice: Dice): Draft {
  const delayMs = dice.chance(0.4) ? dice.between(500, 4_000) : 0;
  return {
    work: { workMs: dice.between(200, 4_000), obeys: dice.chance(0.66) },
    options: { cancelGraceSec: 1, ...(delayMs > 0 && { delayMs }) },
    expected: { delayMs },
    cancelAfterMs: dice.between(0, 3_000),
  };
}

function exactly(count: number): Expected["failures"] {
  return { least: count, most: count };
}
