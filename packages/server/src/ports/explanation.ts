import type { FinalState } from "../domain/execution.ts";
import type { EpochMs, ExecutionId, WorkerId } from "../domain/ids.ts";

/** Why an execution is where it is; several may hold at once. */
export type WaitReason =
  /** It waits for nothing any more. `why`: its row's reason. */
  | { reason: "FINAL"; state: FinalState; why: string | null; finishedAt: EpochMs | null }
  | { reason: "RUNNING"; attempt: number; workerId: WorkerId; startedAt: EpochMs; timesOutAt: EpochMs }
  /** Given to a worker that has not said that it began: on its way, or waiting there for a slot. */
  | { reason: "ASSIGNED"; attempt: number; workerId: WorkerId; assignedAt: EpochMs }
  /**
   * Beside ASSIGNED, for over a second: every slot of the worker was occupied when its gateway last listed it. `stuck`: slots
   * of handlers that still run although their attempts are over. Sent only where every node knows it: NO_FREE_SLOT_REASON.
   */
  | { reason: "WORKER_HAS_NO_FREE_SLOT"; workerId: WorkerId; stuck: number }
  /** A server before this one gave it to the worker, which has until then to show up again. */
  | { reason: "WORKER_AWAITED"; attempt: number; workerId: WorkerId; until: EpochMs }
  | { reason: "CANCEL_REQUESTED"; attempt: number; workerId: WorkerId }
  | { reason: "DUE_LATER"; dueAt: EpochMs }
  | { reason: "BACKOFF"; until: EpochMs; failures: number; maxAttempts: number }
  | { reason: "POOL_PAUSED"; pool: string }
  /** `running` of at most `limit` attempts of the pool are current, whoever owns them. */
  | { reason: "POOL_AT_LIMIT"; pool: string; limit: number; running: number }
  /** The pool's rate is used up until then, and whoever is more urgent goes first. */
  | { reason: "POOL_RATE_USED"; pool: string; ratePerSec: number; nextStartAt: EpochMs }
  /** The pool has limits, and whoever counts what is used of them has not answered yet. */
  | { reason: "PERMIT_AWAITED"; pool: string }
  /** Nobody in the pool offers the handler. */
  | { reason: "NO_WORKER_FOR_HANDLER"; pool: string; handler: string; workersInPool: number }
  /** `missing`: what nobody who offers the handler has, else what the one that comes closest lacks. */
  | { reason: "NO_WORKER_WITH_CAPABILITY"; handler: string; missing: string[]; workersWithHandler: number }
  /** `workers` could run it; `draining` of them take nothing new. */
  | { reason: "ALL_SLOTS_BUSY"; workers: number; draining: number; slots: number; held: number }
  /** `heldBy`: up to ten of the executions that hold the key. */
  | { reason: "KEY_AT_LIMIT"; key: string; limit: number; running: number; heldBy: KeyHolder[] }
  /** Ready: so many of its lane go first. null: it lies in the store behind the `known` first ones. */
  | { reason: "QUEUED"; ahead: number | null; known: number }
  /** Nobody who owns its shard answered: this is all that its row says. */
  | { reason: "OWNER_SILENT" };

export interface KeyHolder {
  executionId: ExecutionId;
  attempt: number;
  workerId: WorkerId;
}
