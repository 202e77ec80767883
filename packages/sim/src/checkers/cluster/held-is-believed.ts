import { type Checker, Violation } from "../checker.ts";
import type { Quiet } from "../quiet.ts";
import { nameOf, type TrackedWorker, type WorkerTracker } from "./worker-tracker.ts";

/**
 * Time for which a gateway and a worker may differ without a fault, in milliseconds, because a message or a question is
 * on its way.
 */
const BOUND_MS = 20_000;

/** An attempt that occupies a worker. */
export interface Occupying {
  executionId: string;
  attempt: number;
}

/** Asks a gateway which attempts occupy one of its workers; null: the gateway does not know the worker. */
export type AskGateway = (server: string, worker: string) => readonly Occupying[] | null;

/**
 * A gateway knows the attempts that occupy its worker: those that wait or run there, and those that are over and whose
 * handlers still run. The checker judges while no fault is active.
 */
export function heldIsBelieved(tracker: WorkerTracker, quiet: Quiet, ask: AskGateway): Checker {
  let differingSinceMs = new Map<string, number>();
  return {
    name: "what is held is what is believed",
    looked(nowMs) {
      const differing = new Map<string, number>();
      if (nowMs >= quiet.sinceMs) {
        for (const attendance of tracker.workers.values()) {
          for (const difference of differencesOf(attendance, ask)) {
            differing.set(difference, differingSinceMs.get(difference) ?? nowMs);
          }
        }
      }
      differingSinceMs = differing;
      for (const [difference, sinceMs] of differing) {
        if (nowMs - sinceMs > BOUND_MS) throw new Violation(`${difference}, for ${nowMs - sinceMs} ms`);
      }
    },
  };
}

function differencesOf({ worker, server, holds, running }: TrackedWorker, ask: AskGateway): string[] {
  const listed = server === null ? null : ask(server, worker);
  if (listed === null) return [];
  const believed = new Set(listed.map(nameOf));
  const held = new Set([...holds, ...running]);
  return [
    ...[...believed].filter((name) => !held.has(name)).map((name) => `${server} believes that ${worker} holds ${name}`),
    ...[...held].filter((name) => !believed.has(name)).map((name) => `${worker} holds ${name}, unknown to ${server}`),
  ];
}
