import type { Hello } from "@mainspring/proto";
import type { WorkerProfile } from "../../ports/messages.ts";
import { HOLDS_MAX, HOLDS_PER_EXECUTION_MAX, LENT_MAX } from "../limits.ts";
import type { HeldAttempts } from "../sessions/held.ts";
import type { Refusal } from "./hello.ts";

/**
 * Limits of the attempts that a worker holds and lists in its hello. A hello lists all of them at once, so the gateway
 * allocates no slot that would exceed the limit. Even after an outage a worker has no more results than its next hello
 * can list.
 */

/** Checks the number of attempts in a hello, before their content is checked. @returns null: the number is allowed */
export function holdsFault({ holds, slots, prefetch }: Hello): Refusal | null {
  if (holds.length > HOLDS_MAX) {
    const detail = `holds: ${holds.length} attempts; at most ${HOLDS_MAX} are allowed, finished ones included`;
    return { code: "RESOURCE_EXHAUSTED", detail };
  }
  const unfinished = holds.filter((held) => !held.finished && !held.over).length;
  if (unfinished > slots + prefetch) {
    const detail = `holds: ${unfinished} unfinished attempts are more than slots (${slots}) and prefetch (${prefetch}) allow`;
    return { code: "INVALID_ARGUMENT", detail };
  }
  return crowdFault(holds);
}

/** Checks the number of attempts of each execution, because a search among them is linear. */
function crowdFault(holds: Hello["holds"]): Refusal | null {
  const counts = new Map<string, number>();
  for (const { token } of holds) {
    const count = (counts.get(token?.executionId ?? "") ?? 0) + 1;
    counts.set(token?.executionId ?? "", count);
    if (count <= HOLDS_PER_EXECUTION_MAX) continue;
    const detail = `holds: more than ${HOLDS_PER_EXECUTION_MAX} attempts of one execution; one is current, and older ones wind down`;
    return { code: "INVALID_ARGUMENT", detail };
  }
  return null;
}

/** Number of credits that a worker may have at once. */
export function capacityOf({ slots, prefetch }: Pick<WorkerProfile, "slots" | "prefetch">): number {
  return Math.min(slots + prefetch, LENT_MAX);
}

/**
 * Part of a worker's capacity that is in use: by unfinished attempts, and by results that exceed the room of a hello.
 */
export function takenOf({ occupied, size }: Pick<HeldAttempts, "occupied" | "size">, capacity: number): number {
  return Math.max(occupied, size - (HOLDS_MAX - capacity));
}
