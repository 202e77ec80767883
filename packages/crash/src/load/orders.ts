import type { JobRequest } from "@mainspring/sdk";
import { monotonicMs } from "../clock.ts";
import { digestOf } from "../history/digest.ts";
import type { Expected } from "../history/events.ts";
import type { SeededRandom } from "../seeded-random.ts";
import { KINDS, type Kind } from "./kinds.ts";

/** A job that a client is about to submit. */
export interface Order {
  /** Monotonic time before the order was created, from which its delay and its expiry count. */
  at: number;
  key: string;
  kind: string;
  request: JobRequest;
  expected: Expected;
  cancelAfterMs: number | null;
}

/** Budget of lost workers that no job of a run reaches, unless the job is meant to. */
const PLENTY_LOST = 50;
const DEFAULT_ATTEMPTS = 5;

/** @param kind kind of the job; default: a random one by frequency */
export function randomOrder(key: string, random: SeededRandom, kind: Kind = random.pickByWeight(KINDS)): Order {
  const at = monotonicMs();
  const { work, options = {}, expected = {}, cancelAfterMs = null } = kind.draft(random);
  const payload = { ...work, key };
  const maxLost = options.onWorkerLost === "DEAD" ? {} : { maxLost: PLENTY_LOST };
  return {
    at,
    key,
    kind: kind.name,
    request: { name: key, target: { handler: kind.name }, payload, ...maxLost, ...options },
    expected: {
      state: "SUCCEEDED",
      failures: { least: 0, most: 0 },
      maxAttempts: DEFAULT_ATTEMPTS,
      maxLost: PLENTY_LOST,
      concurrency: null,
      uniqueKey: null,
      delayMs: 0,
      expiresMs: null,
      payloadSha: digestOf(payload),
      ...expected,
    },
    cancelAfterMs,
  };
}
