import type { Moment } from "../history.ts";
import { type Checker, Violation } from "./checker.ts";

/** How an earlier attempt may have ended that a later one runs beside. */
const GIVEN_UP = ["WORKER_LOST", "TIMED_OUT", "CANCELLED"];

/**
 * DESIGN 9.2: two attempts overlap in time only if the first one's worker was declared lost, or it timed out or was
 * cancelled: both in the store's word, and before the second one began.
 */
export function attemptsDoNotOverlap(): Checker {
  const ends = new Map<string, { state: string }>();
  return {
    name: "attempts do not overlap",
    saw(event) {
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      const missed = new Set(event.outcome.missed);
      for (const { id, ended } of event.asked.changes) {
        if (missed.has(id)) continue;
        for (const { attempt, state } of ended) ends.set(`${id}:${attempt}`, { state });
      }
    },
    atEnd(history) {
      const open = new Map<string, Extract<Moment, { kind: "HANDLER_STARTED" }>[]>();
      for (const moment of history.moments) {
        if (moment.kind === "HANDLER_STARTED") {
          const others = open.get(moment.executionId) ?? [];
          for (const other of others) judge(other, moment, ends);
          open.set(moment.executionId, [...others, moment]);
        } else if (moment.kind === "HANDLER_ENDED") {
          const others = open.get(moment.executionId) ?? [];
          open.set(
            moment.executionId,
            others.filter(({ attempt, worker }) => attempt !== moment.attempt || worker !== moment.worker),
          );
        } else if (moment.kind === "FAULT" && moment.fault === "WORKER_KILLED") {
          // Its handlers died with it.
          for (const [id, others] of open) {
            open.set(
              id,
              others.filter(({ worker }) => worker !== moment.on),
            );
          }
        }
      }
    },
  };
}

function judge(
  other: { executionId: string; attempt: number; worker: string },
  late: { attempt: number; worker: string },
  ends: ReadonlyMap<string, { state: string }>,
): void {
  const { executionId } = other;
  if (other.attempt === late.attempt) {
    throw new Violation(`attempt ${late.attempt} of ${executionId} ran twice: on ${other.worker} and ${late.worker}`);
  }
  const first = Math.min(other.attempt, late.attempt);
  const end = ends.get(`${executionId}:${first}`)?.state ?? "open";
  if (GIVEN_UP.includes(end)) return;
  throw new Violation(
    `attempts ${other.attempt} and ${late.attempt} of ${executionId} overlap, and ${first} is ${end}`,
  );
}
