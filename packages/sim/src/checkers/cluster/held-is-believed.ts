import { type Checker, Violation } from "./checker.ts";
import type { Quiet } from "./quiet.ts";
import { type Attendance, nameOf, type Roll } from "./roll.ts";

/** A gateway and a worker may differ for this long where nothing hinders them: a message is on its way, or a question. */
const BOUND_MS = 20_000;

/** An attempt that occupies a worker. */
export interface Occupying {
  executionId: string;
  attempt: number;
}

/** Asks a gateway which attempts occupy one of its workers. null: the gateway does not know the worker. */
export type AskGateway = (server: string, worker: string) => readonly Occupying[] | null;

/**
 * A gateway knows the attempts that occupy its worker: attempts that wait there or run there, with those
 * that are over and whose handlers go on. Judged while all is quiet.
 */
export function heldIsBelieved(roll: Roll, quiet: Quiet, ask: AskGateway): Checker {
  let differingSinceMs = new Map<string, number>();
  return {
    name: "what is held is what is believed",
    looked(nowMs) {
      const differing = new Map<string, number>();
      if (nowMs >= quiet.sinceMs) {
        for (const attendance of roll.workers.values()) {
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

function differencesOf({ worker, server, holds, running }: Attendance, ask: AskGateway): string[] {
  const listed = server === null ? null : ask(server, worker);
  if (listed === null) return [];
  const believed = new Set(listed.map(nameOf));
  const held = new Set([...holds, ...running]);
  return [
    ...[...believed].filter((name) => !held.has(name)).map((name) => `${server} believes that ${worker} holds ${name}`),
    ...[...held].filter((name) => !believed.has(name)).map((name) => `${worker} holds ${name}, unknown to ${server}`),
  ];
}
