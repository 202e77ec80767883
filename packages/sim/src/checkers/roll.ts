import type { Moment, Ref } from "../history.ts";

/** A worker, as it was seen from outside. */
export interface Attendance {
  readonly worker: string;
  readonly slots: number;
  readonly prefetch: number;
  readonly capabilities: readonly string[];
  /** The process of the gateway that heard its hello over the connection that it has now; null: none. */
  server: string | null;
  connection: number;
  /** Since when it has been connected, has run, and its last fault is over; in the future while it is paused. */
  wellSinceMs: number;
  /** Handlers that run, by token. */
  readonly running: Set<string>;
  /** Since when handlers have run although nobody waits for them any more, by token. */
  readonly overSinceMs: Map<string, number>;
  /**
   * Attempts that the worker received and is not done with: it has neither reported a result nor been told to forget
   * them.
   */
  readonly holds: Set<string>;
  /** Everything that it was ever given: a repeat starts nothing. */
  readonly given: Set<string>;
  /** Everything that it is done with. */
  readonly done: Set<string>;
  /** Since when it has held less than it has slots; in the future while it does not. */
  freeSinceMs: number;
}

/** The living workers, kept for those who judge. */
export class Roll {
  readonly name = "the roll";
  readonly workers = new Map<string, Attendance>();

  get(worker: string): Attendance | undefined {
    return this.workers.get(worker);
  }

  /** A worker that can run it, and has been well and not full since then; null: there is none. */
  freeFor(requires: readonly string[], sinceMs: number): string | null {
    for (const attendance of this.workers.values()) {
      if (isFree(attendance, sinceMs) && requires.every((needed) => attendance.capabilities.includes(needed))) {
        return attendance.worker;
      }
    }
    return null;
  }

  noticed(moment: Moment): void {
    if (moment.kind === "WORKER_BORN") this.#born(moment);
    else if (moment.kind === "FAULT") this.#fault(moment);
    else if ("worker" in moment) {
      const attendance = this.workers.get(moment.worker);
      if (attendance === undefined) return;
      note(attendance, moment);
      noteOver(attendance, moment.atMs);
      const isFull = occupiedBy(attendance) >= attendance.slots;
      if (isFull) attendance.freeSinceMs = Number.POSITIVE_INFINITY;
      else attendance.freeSinceMs = Math.min(attendance.freeSinceMs, moment.atMs);
    }
  }

  #born({ worker, slots, prefetch, capabilities, atMs }: Extract<Moment, { kind: "WORKER_BORN" }>): void {
    const sets = {
      running: new Set<string>(),
      overSinceMs: new Map<string, number>(),
      holds: new Set<string>(),
      given: new Set<string>(),
      done: new Set<string>(),
    };
    const since = { wellSinceMs: atMs, freeSinceMs: atMs };
    this.workers.set(worker, { worker, slots, prefetch, capabilities, server: null, connection: 0, ...since, ...sets });
  }

  #fault({ fault, on, forMs = 0, atMs }: Extract<Moment, { kind: "FAULT" }>): void {
    if (fault === "WORKER_KILLED") this.workers.delete(on);
    const attendance = this.workers.get(on);
    if (attendance === undefined || fault !== "WORKER_PAUSED") return;
    attendance.wellSinceMs = Math.max(attendance.wellSinceMs, atMs + forMs);
  }
}

/** Number of attempts that take a slot or wait for one, including handlers that go on after the end of their attempts. */
function occupiedBy(attendance: Attendance): number {
  return attendance.holds.size + attendance.overSinceMs.size;
}

/** Handlers that have run since then although nobody waits for them any more. */
export function stuckSince({ overSinceMs }: Attendance, sinceMs: number): number {
  let stuck = 0;
  for (const overMs of overSinceMs.values()) if (overMs <= sinceMs) stuck++;
  return stuck;
}

/** Connected, well and not full since then. */
function isFree({ server, wellSinceMs, freeSinceMs }: Attendance, sinceMs: number): boolean {
  return server !== null && wellSinceMs <= sinceMs && freeSinceMs <= sinceMs;
}

function noteOver({ holds, running, overSinceMs }: Attendance, atMs: number): void {
  for (const name of overSinceMs.keys()) if (!running.has(name)) overSinceMs.delete(name);
  for (const name of running) if (!holds.has(name) && !overSinceMs.has(name)) overSinceMs.set(name, atMs);
}

function note(attendance: Attendance, moment: Moment & { worker: string }): void {
  const { holds, running, given, done } = attendance;
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- the books are about these moments only
  switch (moment.kind) {
    case "GREETED":
      // It was left waiting by a server that was held up, and has long gone elsewhere.
      if (moment.connection < attendance.connection) break;
      attendance.server = moment.server;
      attendance.connection = moment.connection;
      attendance.wellSinceMs = Math.max(attendance.wellSinceMs, moment.atMs);
      // An assignment that came over a connection that the worker had given up never reached the worker.
      holds.clear();
      for (const hold of moment.holds) if (!hold.finished && !done.has(nameOf(hold))) holds.add(nameOf(hold));
      break;
    case "PARTED":
      if (attendance.connection === moment.connection) attendance.server = null;
      break;
    case "DELIVERED":
      if (!given.has(nameOf(moment))) holds.add(nameOf(moment));
      given.add(nameOf(moment));
      break;
    case "REPORTED":
    case "REFUSED":
    case "ACKED":
      holds.delete(nameOf(moment));
      done.add(nameOf(moment));
      break;
    case "HANDLER_STARTED":
      running.add(nameOf(moment));
      break;
    case "HANDLER_ENDED":
      running.delete(nameOf(moment));
  }
}

export function nameOf({ executionId, attempt }: Ref): string {
  return `${executionId}:${attempt}`;
}
