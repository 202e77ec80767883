import { type ExecutionState, isFinal } from "../../domain/execution.ts";
import type { EpochMs, ExecutionId, Incarnation } from "../../domain/ids.ts";
import type { Bus } from "../../ports/bus.ts";
import type { LiveExecution } from "../../ports/messages.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { ExecutionSummary } from "../../ports/store-queries.ts";
import type { Inbox } from "../inbox.ts";

/** Longest wait for an owner's answer by default, in milliseconds; after that the answer shows the row as it is. */
const ASK_TIMEOUT_MS = 250;

/** A row with the newer data of its owner. */
export type Overlaid<T extends ExecutionSummary = ExecutionSummary> = T & {
  /** Time at which the attempt entered the owner's state; null or absent: the owner does not know it. */
  since?: EpochMs | null;
};

/** Asks owners for data that is newer than the rows. */
export class LiveView {
  readonly #bus: Bus;
  readonly #inbox: Inbox;
  readonly #runtime: Runtime;

  constructor(bus: Bus, inbox: Inbox, runtime: Runtime) {
    this.#bus = bus;
    this.#inbox = inbox;
    this.#runtime = runtime;
  }

  /** Adds owners' data to rows that are not final, with one question per owner. @param patienceMs longest wait for their answers */
  async overlay<T extends ExecutionSummary>(rows: readonly T[], patienceMs = ASK_TIMEOUT_MS): Promise<Overlaid<T>[]> {
    const byOwner = this.#byOwner(rows);
    if (byOwner.size === 0) return [...rows];
    const request = this.#runtime.uuid();
    const answered = this.#inbox.collect(request, byOwner.size, patienceMs);
    for (const [node, executionIds] of byOwner) {
      this.#bus.send({ node, role: "scheduler" }, { kind: "ASK", request, executionIds });
    }
    const live = new Map<ExecutionId, LiveExecution>();
    for (const answer of await answered) {
      if (answer.kind === "LIVE") for (const execution of answer.executions) live.set(execution.executionId, execution);
    }
    return rows.map((row) => withLive(row, live.get(row.executionId)));
  }

  #byOwner(rows: readonly ExecutionSummary[]): Map<Incarnation, ExecutionId[]> {
    const byOwner = new Map<Incarnation, ExecutionId[]>();
    for (const { executionId, shard, state } of rows) {
      const owner = isFinal(state) ? null : this.#bus.ownerOf(shard);
      if (owner !== null) byOwner.set(owner, [...(byOwner.get(owner) ?? []), executionId]);
    }
    return byOwner;
  }
}

/** Combines a row and its owner's answer. The answer may be older than the row, and an attempt never goes back. */
function withLive<T extends ExecutionSummary>(row: T, live: LiveExecution | undefined): Overlaid<T> {
  if (live === undefined || isFinal(row.state) || live.attempt < row.attempt) return row;
  const state: ExecutionState = live.state;
  return {
    ...row,
    state,
    attempt: live.attempt,
    workerId: live.workerId,
    startedAt: row.startedAt ?? live.startedAt,
    since: live.since ?? null,
  };
}
