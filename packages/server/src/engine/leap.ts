import type { Entry } from "./entry.ts";
import { type MachineState, type Step, setTimer } from "./state.ts";

/**
 * The store's clock was set, and `now` leapt with it: all that memory measures a duration from leaps too, so that every
 * attempt, search and silence goes on as if nothing had happened. Instants stay: due times, expiries, fires of plans.
 */
export function leap({ state }: Pick<Step, "state">, byMs: number): void {
  for (const entry of state.entries.values()) leapAttempt(state, entry, byMs);
  state.young.leap(byMs);
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
    state.plans.dirty.add(planned);
  }
  state.lanes.leap(byMs);
  state.permits.leap(byMs);
}

/** Its timer is the end of its time, of its grace, or of the search for its worker. */
function leapAttempt(state: MachineState, entry: Entry, byMs: number): void {
  const { assigned, timer } = entry;
  if (assigned === null) return;
  assigned.at += byMs;
  if (assigned.startedAt !== null) assigned.startedAt += byMs;
  if (assigned.soughtSince !== null) assigned.soughtSince += byMs;
  if (timer !== null && entry.place === "ASSIGNED") setTimer(state, entry, timer.key + byMs);
}
