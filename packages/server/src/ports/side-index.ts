import type { EpochMs, ExecutionId, Incarnation } from "../domain/ids.ts";
import type { DueWindow } from "./due-window.ts";
import type { WorkerStatus } from "./messages.ts";

/**
 * An index beside the store, such as Redis: it answers while the store does not, and never is the truth. It may be empty, old or away at
 * any moment, so the nodes check with the store, or with a living gateway, whatever it says.
 */
export interface SideIndex {
  readonly workers: WorkerRegistry;
  readonly cancels: CancelSet;
  readonly window: DueWindow;
}

/** Statuses of the workers of all gateways. They outlive their gateway, for people only: no rule of the scheduler reads them. */
export interface WorkerRegistry {
  /** Replaces the entry of a gateway. @throws {IndexUnavailable} */
  write(gateway: Incarnation, workers: readonly WorkerStatus[]): Promise<void>;
  /** Removes the entry of a gateway that stops in order. @throws {IndexUnavailable} */
  forget(gateway: Incarnation): Promise<void>;
  /** Entries of other gateways than these, 1,000 gateways at most. @throws {IndexUnavailable} */
  read(except: ReadonlySet<Incarnation>): Promise<RegistryEntry[]>;
}

export interface RegistryEntry {
  gateway: Incarnation;
  /** Milliseconds since the gateway has written the entry, by the clock of the index. */
  ageMs: number;
  workers: readonly WorkerStatus[];
}

/** Cancellations that clients asked for while the store did not answer. */
export interface CancelSet {
  /** Adds a cancellation, or renews it. @returns false: the set is full. @throws {IndexUnavailable} */
  add(executionId: ExecutionId, askedAt: EpochMs): Promise<boolean>;
  /**
   * All cancellations, the oldest first.
   * @param known version that the caller has; null: none
   * @returns null: nothing has changed since that version
   * @throws {IndexUnavailable}
   */
  read(known: string | null): Promise<AskedCancels | null>;
  /** Removes cancellations that the store has, or will never need. @throws {IndexUnavailable} */
  remove(executionIds: readonly ExecutionId[]): Promise<void>;
}

export interface AskedCancels {
  /** Differs after each change. */
  version: string;
  cancels: readonly AskedCancel[];
}

export interface AskedCancel {
  executionId: ExecutionId;
  askedAt: EpochMs;
}

/** Time for which the registry keeps the entry of a gateway that writes no more, in ms. */
export const REGISTRY_KEPT_MS = 600_000;
/** Gateways in the registry. Beyond that, the one that has been silent for the longest time goes. */
export const REGISTRY_GATEWAYS_MAX = 1_000;
/** Cancellations in the set. Beyond that, a request to cancel gets the answer that it would get without the set. */
export const CANCELS_MAX = 10_000;
/** Age at which a cancellation leaves the set, in ms. */
export const CANCELS_KEPT_MS = 24 * 3_600_000;

/** The index did not answer in time, or takes no writes now. A requested write may have happened. */
export class IndexUnavailable extends Error {
  override readonly name = "IndexUnavailable";
}

/** The index will not work until a person changes something; the message says what. */
export class IndexUnusable extends Error {
  override readonly name = "IndexUnusable";
}
