import { AHEAD_MAX } from "@mainspring/server/testing";
import type { Ref, SimEvent } from "../../history.ts";

/** A worker, as observed from outside. */
export interface TrackedWorker {
  readonly worker: string;
  readonly slots: number;
  /** Number of attempts that may wait at the worker, at most. */
  readonly prefetch: number;
  readonly isAuto: boolean;
  readonly capabilities: readonly string[];
  /** Process of the gateway that received the hello of the worker's present connection; null: none. */
  server: string | null;
  connection: number;
  /**
   * Time since which the worker has been connected, has run, and had no fault; in the future while the worker is
   * paused.
   */
  wellSinceMs: number;
  /** Tokens of handlers that run. */
  readonly running: Set<string>;
  /** Times since which handlers have run after the end of their attempts, by token. */
  readonly overSinceMs: Map<string, number>;
  /**
   * Attempts that the worker received and is not done with: it has neither reported a result nor been told to forget
   * them.
   */
  readonly holds: Set<string>;
  /** Every attempt that the worker ever received; a repeat starts nothing. */
  readonly given: Set<string>;
  /** Every attempt that the worker is done with. */
  readonly done: Set<string>;
  /** Time since which the worker has held fewer attempts than it has slots; in the future while it has no free slot. */
  freeSinceMs: number;
}

/** Records of the living workers, for other checkers. */
export class WorkerTracker {
  readonly name = "the roll";
  readonly workers = new Map<string, TrackedWorker>();

  get(worker: string): TrackedWorker | undefined {
    return this.workers.get(worker);
  }

  /** Id of a worker that can run the execution and has been well and not full since `sinceMs`; null: there is none. */
  freeFor(requires: readonly string[], sinceMs: number): string | null {
    for (const tracked of this.workers.values()) {
      if (isFree(tracked, sinceMs) && requires.every((needed) => tracked.capabilities.includes(needed))) {
        return tracked.worker;
      }
    }
    return null;
  }

  noticed(event: SimEvent): void {
    if (event.kind === "WORKER_BORN") this.#born(event);
    else if (event.kind === "FAULT") this.#fault(event);
    else if ("worker" in event) {
      const tracked = this.workers.get(event.worker);
      if (tracked === undefined) return;
      note(tracked, event);
      noteOver(tracked, event.atMs);
      const isFull = occupiedBy(tracked) >= tracked.slots;
      if (isFull) tracked.freeSinceMs = Number.POSITIVE_INFINITY;
      else tracked.freeSinceMs = Math.min(tracked.freeSinceMs, event.atMs);
    }
  }

  #born({ worker, slots, prefetch, capabilities, atMs }: Extract<SimEvent, { kind: "WORKER_BORN" }>): void {
    const sets = {
      running: new Set<string>(),
      overSinceMs: new Map<string, number>(),
      holds: new Set<string>(),
      given: new Set<string>(),
      done: new Set<string>(),
    };
    const since = { wellSinceMs: atMs, freeSinceMs: atMs };
    const isAuto = prefetch === "auto";
    const shape = { slots, prefetch: isAuto ? AHEAD_MAX : prefetch, isAuto, capabilities };
    this.workers.set(worker, { worker, ...shape, server: null, connection: 0, ...since, ...sets });
  }

  #fault({ fault, on, forMs = 0, atMs }: Extract<SimEvent, { kind: "FAULT" }>): void {
    if (fault === "WORKER_KILLED") this.workers.delete(on);
    const tracked = this.workers.get(on);
    if (tracked === undefined || fault !== "WORKER_PAUSED") return;
    tracked.wellSinceMs = Math.max(tracked.wellSinceMs, atMs + forMs);
  }
}

/**
 * Number of attempts that take a slot or wait for one, including handlers that run on after the end of their attempts.
 */
function occupiedBy(tracked: TrackedWorker): number {
  return tracked.holds.size + tracked.overSinceMs.size;
}

/** Number of handlers that have run since `sinceMs` although their attempts are over. */
export function stuckSince({ overSinceMs }: TrackedWorker, sinceMs: number): number {
  let stuck = 0;
  for (const overMs of overSinceMs.values()) if (overMs <= sinceMs) stuck++;
  return stuck;
}

/** Whether a worker has been connected, well and not full since `sinceMs`. */
function isFree({ server, wellSinceMs, freeSinceMs }: TrackedWorker, sinceMs: number): boolean {
  return server !== null && wellSinceMs <= sinceMs && freeSinceMs <= sinceMs;
}

function noteOver({ holds, running, overSinceMs }: TrackedWorker, atMs: number): void {
  for (const name of overSinceMs.keys()) if (!running.has(name)) overSinceMs.delete(name);
  for (const name of running) if (!holds.has(name) && !overSinceMs.has(name)) overSinceMs.set(name, atMs);
}

function note(tracked: TrackedWorker, event: SimEvent & { worker: string }): void {
  const { holds, running, given, done } = tracked;
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- only these events change the records
  switch (event.kind) {
    case "GREETED":
      // The event waited at a paused server; the worker has long been connected elsewhere.
      if (event.connection < tracked.connection) break;
      tracked.server = event.server;
      tracked.connection = event.connection;
      tracked.wellSinceMs = Math.max(tracked.wellSinceMs, event.atMs);
      // An assignment that arrived over a connection that the worker had given up never reached the worker.
      holds.clear();
      for (const hold of event.holds) if (!hold.finished && !done.has(nameOf(hold))) holds.add(nameOf(hold));
      break;
    case "PARTED":
      if (tracked.connection === event.connection) tracked.server = null;
      break;
    case "DELIVERED":
      if (!given.has(nameOf(event))) holds.add(nameOf(event));
      given.add(nameOf(event));
      break;
    case "REPORTED":
    case "REFUSED":
    case "ACKED":
      holds.delete(nameOf(event));
      done.add(nameOf(event));
      break;
    case "HANDLER_STARTED":
      running.add(nameOf(event));
      break;
    case "HANDLER_ENDED":
      running.delete(nameOf(event));
  }
}

export function nameOf({ executionId, attempt }: Ref): string {
  return `${executionId}:${attempt}`;
}
