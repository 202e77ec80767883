import type { Dice } from "../dice.ts";

export const ACTIONS = [
  "KILL_SERVER",
  "PAUSE_SERVER",
  "KILL_STORE",
  "KILL_SERVER_AND_STORE",
  "KILL_WORKER",
  "STOP_WORKER",
  "KILL_CLIENT",
] as const;
export type Action = (typeof ACTIONS)[number];

export interface Step {
  /** How long nothing is done before it. */
  gapMs: number;
  action: Action;
}

const GAP_MS = { least: 500, most: 4_000 };

/**
 * What is done while a worker is stopped for the first time. The server stays up, for a worker that is connected and
 * silent is to be told from one whose connection broke.
 */
export function opening(dice: Dice): Step[] {
  return withGaps(dice, ["KILL_WORKER", "KILL_STORE", "KILL_CLIENT"]);
}

/** Every action there is, the server's death twice, in any order; but what takes longest begins. */
export function round(dice: Dice): Step[] {
  const others = ACTIONS.filter((action) => action !== "STOP_WORKER");
  return [{ gapMs: 0, action: "STOP_WORKER" }, ...withGaps(dice, ["KILL_SERVER", ...others])];
}

function withGaps(dice: Dice, actions: readonly Action[]): Step[] {
  return dice.shuffle(actions).map((action) => ({ gapMs: dice.between(GAP_MS.least, GAP_MS.most), action }));
}
