import type { JobOptions } from "@mainspring/sdk";
import type { Expected } from "../history/events.ts";
import type { SeededRandom } from "../seeded-random.ts";
import type { Work } from "./work.ts";

/** One job of a kind: its request and its expected outcome. Absent fields: a plain job that succeeds at once. */
export interface Draft {
  work: Omit<Work, "key">;
  options?: JobOptions;
  expected?: Partial<Expected>;
  /** Time from the acceptance to the request for its cancellation, in milliseconds. */
  cancelAfterMs?: number;
}

export interface Kind {
  /** Name of the kind and of its handler. */
  name: string;
  /** Relative frequency of the kind. */
  weight: number;
  draft(random: SeededRandom): Draft;
}

export const FAST_RETRY = { backoff: "FIXED", initialDelayMs: 200, jitter: false } as const;

export const KINDS: readonly Kind[] = [
  { name: "quick", weight: 30, draft: (random) => ({ work: { workMs: random.between(0, 50) } }) },
  {
    name: "prioritised",
    weight: 8,
    draft: (random) => ({ work: { workMs: random.between(0, 100) }, options: { priority: random.between(0, 9) } }),
  },
  { name: "delayed", weight: 10, draft: delayed },
  { name: "slow", weight: 10, draft: (random) => ({ work: { workMs: random.between(2_000, 7_000) } }) },
  { name: "flaky", weight: 8, draft: flaky },
  {
    name: "doomed",
    weight: 3,
    draft: (random) => ({
      work: { workMs: random.between(0, 50), failTimes: 99 },
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
    draft: (random) => ({
      work: { workMs: 20, filler: String(random.between(0, 9)).repeat(random.between(50_000, 300_000)) },
    }),
  },
];

function delayed(random: SeededRandom): Draft {
  const delayMs = random.between(200, 8_000);
  return { work: { workMs: random.between(0, 100) }, options: { delayMs }, expected: { delayMs } };
}

function flaky(random: SeededRandom): Draft {
  const failTimes = random.between(1, 3);
  return {
    work: { workMs: random.between(0, 200), failTimes },
    options: { retryPolicy: { ...FAST_RETRY, maxAttempts: 4 } },
    expected: { failures: exactly(failTimes), maxAttempts: 4 },
  };
}

/**
 * A job whose first try runs into the timeout and goes on nevertheless. On a busy machine, the second may be slow too.
 */
function overlong(): Draft {
  return {
    work: { workMs: 10, firstWorkMs: 4_000 },
    options: { timeoutSec: 1, cancelGraceSec: 0.5, retryPolicy: { ...FAST_RETRY, maxAttempts: 20 } },
    expected: { failures: { least: 1, most: 19 }, maxAttempts: 20 },
  };
}

/** A job that may lose its worker only once. */
function fragile(random: SeededRandom): Draft {
  const options: JobOptions = random.chance(0.5) ? { maxLost: 1 } : { onWorkerLost: "DEAD" };
  return { work: { workMs: random.between(500, 4_000) }, options, expected: { maxLost: 1 } };
}

function perishable(random: SeededRandom): Draft {
  const expiresMs = random.between(1_000, 4_000);
  const startBefore = new Date(Date.now() + expiresMs);
  return { work: { workMs: random.between(0, 300) }, options: { startBefore }, expected: { expiresMs } };
}

function keyed(random: SeededRandom): Draft {
  const limit = random.between(1, 3);
  const concurrencyKey = `key-${limit}-${random.between(1, 2)}`;
  return {
    work: { workMs: random.between(50, 400) },
    options: { concurrencyKey, concurrencyLimit: limit },
    expected: { concurrency: { key: concurrencyKey, limit } },
  };
}

function unique(random: SeededRandom): Draft {
  const uniqueKey = `unique-${random.between(1, 4)}`;
  return { work: { workMs: random.between(100, 1_500) }, options: { uniqueKey }, expected: { uniqueKey } };
}

/**
 * A job that is cancelled before it is due, while it runs, or perhaps too late; a third of these ignore the
 * cancellation.
 */
function cancelled(random: SeededRandom): Draft {
  const delayMs = random.chance(0.4) ? random.between(500, 4_000) : 0;
  return {
    work: { workMs: random.between(200, 4_000), obeys: random.chance(0.66) },
    options: { cancelGraceSec: 1, ...(delayMs > 0 && { delayMs }) },
    expected: { delayMs },
    cancelAfterMs: random.between(0, 3_000),
  };
}

export function exactly(count: number): Expected["failures"] {
  return { least: count, most: count };
}
