import type { Entry } from "./entry.ts";
import { type MachineState, type Step, setTimer } from "./state.ts";

/**
 * Adjusts memory when the store's clock was set, so that `now` leapt. All times from which the machine measures a
 * duration leap too, so every attempt, search and silence continues as if the clock had not been set. Due times,
 * expiries and planned instants do not change.
 */
export function leap({ state }: Pick<Step, "state">, byMs: number): void {
  for (const entries of [state.entries, state.runs.unborn])
    for (const entry of entries.values()) leapAttempt(state, entry, byMs);
  state.unpersisted.leap(byMs);
  state.judgedAt += byMs;
  for (const [gateway, heardAt] of state.heard) state.heard.set(gateway, heardAt + byMs);
  for (const { absentAt } of state.adopting.values()) {
    for (const [gateway, at] of absentAt) absentAt.set(gateway, at + byMs);
  }
  for (const worker of state.workers.all()) {
    worker.listedAt += byMs;
    worker.askedAt += byMs;
  }
  for (const planned of state.plans.byId.values()) {
    if (planned.editSeenAt === null) continue;
    planned.editSeenAt += byMs;
    state.plans.touch(planned);
  }
  state.lanes.leap(byMs);
  state.permits.leap(byMs);
}

/** Adjusts an attempt. Its timer is the end of its run time, of its grace time, or of the search for its worker. */
function leapAttempt(state: MachineState, entry: Entry, byMs: number): void {
  const { assigned, timer } = entry;
  if (assigned === null) return;
  assigned.at += byMs;
  if (assigned.startedAt !== null) assigned.startedAt += byMs;
  if (assigned.soughtSince !== null) assigned.soughtSince += byMs;
  if (timer !== null && entry.place === "ASSIGNED") setTimer(state, entry, timer.key + byMs);
}
