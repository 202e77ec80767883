import type { Fault } from "../history/events.ts";
import type { SeededRandom } from "../seeded-random.ts";

export type Action =
  | "KILL_SERVER"
  | "PAUSE_SERVER"
  | "RESTART_SERVER"
  | "KILL_STORE"
  | "KILL_SERVER_AND_STORE"
  | "KILL_WORKER"
  | "STOP_WORKER"
  | "RETIRE_WORKER"
  | "KILL_CLIENT";

/** Number of times that each fault must occur, or the run proves nothing. */
export const CRASH_DEMANDS: Partial<Record<Fault, number>> = {
  SERVER_KILLED: 2,
  SERVER_PAUSED: 1,
  SERVER_RESTARTED: 1,
  STORE_KILLED: 1,
  WORKER_KILLED: 1,
  WORKER_STOPPED: 1,
  WORKER_RETIRED: 1,
  CLIENT_KILLED: 1,
};

export interface Step {
  /** Pause before the fault, in milliseconds. */
  gapMs: number;
  action: Action;
}

const GAP_MS = { least: 300, most: 2_000 };

/**
 * Faults while a worker is stopped for the first time. The server stays up, because a silent worker with a connection
 * must be distinguished from one whose connection broke.
 */
export function opening(random: SeededRandom): Step[] {
  return withGaps(random, ["KILL_WORKER", "RETIRE_WORKER", "KILL_STORE", "KILL_CLIENT"]);
}

/**
 * All actions in a round, the server's death twice. A worker is stopped first, then its server dies, because detecting
 * that takes long; the other actions happen meanwhile.
 */
export function round(random: SeededRandom): Step[] {
  const toServer: Action[] = ["KILL_SERVER", "KILL_SERVER", "PAUSE_SERVER", "RESTART_SERVER", "KILL_SERVER_AND_STORE"];
  const toOthers: Action[] = ["KILL_STORE", "KILL_WORKER", "RETIRE_WORKER", "KILL_CLIENT"];
  return [{ gapMs: 0, action: "STOP_WORKER" }, ...withGaps(random, toServer), ...withGaps(random, toOthers)];
}

function withGaps(random: SeededRandom, actions: readonly Action[]): Step[] {
  return random.shuffle(actions).map((action) => ({ gapMs: random.between(GAP_MS.least, GAP_MS.most), action }));
}
