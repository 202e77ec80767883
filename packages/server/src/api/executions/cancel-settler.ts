import type { Logger } from "pino";
import { isFinal } from "../../domain/execution.ts";
import type { EpochMs, ExecutionId } from "../../domain/ids.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import { type AskedCancel, CANCELS_KEPT_MS, type CancelSet, IndexUnavailable } from "../../ports/side-index.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import { tenantOf } from "../../security/tenant.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import type { Commands } from "../commands.ts";

/** Time in ms between two looks at the set, at most; on average half of it, so that nodes seldom look together. */
const LOOK_EVERY_MS = 2_000;
/** Cancellations that one look settles. */
const LOOK_MAX = 200;
/**
 * Time in ms for which the settler looks for an execution that the store does not have: a job that was accepted while the store was away may
 * be written later than it was cancelled.
 */
const MISSING_MAX_MS = 60_000;

interface CancelSettlerOptions {
  cancels: CancelSet;
  stores: Pick<TenantStores, "of">;
  commands: Pick<Commands, "leave">;
  runtime: Runtime;
  log: Logger;
}

/**
 * Writes cancellations of the set into the store when it answers again: each becomes the command that it would have been before. Only then
 * does it leave the set. Several nodes may write the same one, which is the same as asking twice.
 */
export class CancelSettler {
  readonly #options: CancelSettlerOptions;
  readonly #missingSince = new Map<ExecutionId, number>();
  #timer: Timer | null = null;
  #isStopped = false;
  #version: string | null = null;
  #open: readonly AskedCancel[] = [];

  constructor(options: CancelSettlerOptions) {
    this.#options = options;
  }

  start(): void {
    const { runtime } = this.#options;
    this.#timer = runtime.setTimer(LOOK_EVERY_MS * runtime.random(), () => void this.#look());
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  async #look(): Promise<void> {
    try {
      await this.#settle();
    } catch (error) {
      // The index and the store each say so themselves where they are away.
      if (!(error instanceof IndexUnavailable || error instanceof StoreUnavailable))
        this.#options.log.warn({ err: error }, "the api could not write cancellations into the store and tries again");
    }
    if (!this.#isStopped) this.start();
  }

  async #settle(): Promise<void> {
    const { cancels, runtime } = this.#options;
    const found = await cancels.read(this.#version);
    if (found !== null) {
      this.#version = found.version;
      this.#open = found.cancels;
      this.#forgetOthers();
    }
    const done: ExecutionId[] = [];
    try {
      for (const cancel of this.#open.slice(0, LOOK_MAX))
        if (await this.#isSettled(cancel, runtime.now())) done.push(cancel.executionId);
    } finally {
      if (done.length > 0) await this.#remove(done);
    }
  }

  /** Settles one cancellation. @returns whether the set needs it no more. @throws {StoreUnavailable} */
  async #isSettled({ executionId, askedAt }: AskedCancel, now: EpochMs): Promise<boolean> {
    const { stores, commands, runtime } = this.#options;
    if (askedAt < now - CANCELS_KEPT_MS) return true;
    const view = await stores.of(tenantOf(null)).queries.getExecution(executionId);
    if (view === null) return this.#isMissing(executionId);
    if (isFinal(view.state)) return true;
    await commands.leave({ id: runtime.uuid(), shard: view.shard, kind: "CANCEL", executionId });
    return true;
  }

  #isMissing(executionId: ExecutionId): boolean {
    const nowMs = this.#options.runtime.monotonicMs();
    const sinceMs = this.#missingSince.get(executionId) ?? nowMs;
    this.#missingSince.set(executionId, sinceMs);
    return nowMs - sinceMs >= MISSING_MAX_MS;
  }

  async #remove(executionIds: readonly ExecutionId[]): Promise<void> {
    await this.#options.cancels.remove(executionIds);
    const gone = new Set(executionIds);
    this.#open = this.#open.filter(({ executionId }) => !gone.has(executionId));
    this.#forgetOthers();
  }

  #forgetOthers(): void {
    const open = new Set(this.#open.map(({ executionId }) => executionId));
    for (const executionId of this.#missingSince.keys())
      if (!open.has(executionId)) this.#missingSince.delete(executionId);
  }
}
