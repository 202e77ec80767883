import type { Dice } from "../dice.ts";
import type { Fault } from "../history/events.ts";

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

/** How often each fault must be seen, or the run shows nothing. */
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
  /** How long nothing is done before it. */
  gapMs: number;
  action: Action;
}

const GAP_MS = { least: 300, most: 2_000 };

/**
 * Faults that happen while a worker is stopped for the first time. The server stays up, for a worker that is connected
 * and silent is to be told from one whose connection broke.
 */
export function opening(dice: Dice): Step[] {
  return withGaps(dice, ["KILL_WORKER", "RETIRE_WORKER", "KILL_STORE", "KILL_CLIENT"]);
}

/**
 * Every action there is, the server's death twice. A worker is stopped first, then its server dies, for that is what
 * takes long to be noticed; the rest happens meanwhile.
 */
export function round(dice: Dice): Step[] {
  const toServer: Action[] = ["KILL_SERVER", "KILL_SERVER", "PAUSE_SERVER", "RESTART_SERVER", "KILL_SERVER_AND_STORE"];
  const toOthers: Action[] = ["KILL_STORE", "KILL_WORKER", "RETIRE_WORKER", "KILL_CLIENT"];
  return [{ gapMs: 0, action: "STOP_WORKER" }, ...withGaps(dice, toServer), ...withGaps(dice, toOthers)];
}

function withGaps(dice: Dice, actions: readonly Action[]): Step[] {
  return dice.shuffle(actions).map((action) => ({ gapMs: dice.between(GAP_MS.least, GAP_MS.most), action }));
}
