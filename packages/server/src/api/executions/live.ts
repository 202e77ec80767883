import { type ExecutionState, isFinal } from "../domain/execution.ts";
import type { EpochMs, ExecutionId, Incarnation } from "../domain/ids.ts";
import type { Bus } from "../ports/bus.ts";
import type { LiveExecution } from "../ports/messages.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { ExecutionSummary } from "../ports/store-queries.ts";
import type { Inbox } from "./inbox.ts";

/** An owner that is slower than this is not waited for: the row is told as it is. */
const ASK_TIMEOUT_MS = 250;

/** A row with what its owner says. */
export type Overlaid<T extends ExecutionSummary = ExecutionSummary> = T & {
  /** Time at which the attempt entered the state that the owner says; null or left out: the owner does not say. */
  since?: EpochMs | null;
};

/** Asks owners what they know beyond the rows. */
export class LiveView {
  readonly #bus: Bus;
  readonly #inbox: Inbox;
  readonly #runtime: Runtime;

  constructor(bus: Bus, inbox: Inbox, runtime: Runtime) {
    this.#bus = bus;
    this.#inbox = inbox;
    this.#runtime = runtime;
  }

  /** The rows with what their owners say of those that are not final. One question an owner. */
  async overlay<T extends ExecutionSummary>(rows: readonly T[]): Promise<Overlaid<T>[]> {
    const byOwner = this.#byOwner(rows);
    if (byOwner.size === 0) return [...rows];
    const request = this.#runtime.uuid();
    const answered = this.#inbox.collect(request, byOwner.size, ASK_TIMEOUT_MS);
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

/** An answer may be older than the row: an attempt never goes back. */
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
