import type { ExecutionId } from "../../domain/ids.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Bus } from "../../ports/bus.ts";
import type { HandlerOutput } from "../../ports/messages.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { ExecutionSummary } from "../../ports/store-queries.ts";
import type { LiveView, Overlaid } from "./live.ts";
import type { StreamSeats } from "./stream-seats.ts";

/** Interval at which owners are asked for the state of all followed executions, in milliseconds. */
const LOOK_MS = 500;
/**
 * Number of these intervals after which gateways are told again which executions are followed, so that a lost message
 * is repeated.
 */
const RENEW_EVERY_LOOKS = 6;

/** Receiver of one execution's events. */
export interface Follower {
  /** The row as the follower knows it; data of owners are added to it. */
  row: ExecutionSummary;
  /** Number of the last handler output that the follower has. */
  readonly seq: number;
  /** Tenant of the execution. */
  readonly tenant: Tenant;
  changed(row: Overlaid): void;
  heard(item: HandlerOutput): void;
}

export interface FollowersDependencies {
  bus: Bus;
  runtime: Runtime;
  live: LiveView;
  seats: StreamSeats;
}

/**
 * Streams that follow executions that are not final. All of them together cost each owner one question at regular
 * intervals.
 */
export class Followers {
  readonly #deps: FollowersDependencies;
  readonly #followers = new Map<ExecutionId, Set<Follower>>();
  #looks = 0;
  #timer: Timer | null = null;
  #isClosed = false;

  constructor(deps: FollowersDependencies) {
    this.#deps = deps;
  }

  /**
   * Adds a follower. @returns function that removes it. @throws {ProblemError} 429 while there are too many followers
   */
  enter(follower: Follower): () => void {
    const free = this.#deps.seats.take();
    const { executionId } = follower.row;
    const same = this.#followers.get(executionId);
    if (same === undefined) this.#followers.set(executionId, new Set([follower]));
    else same.add(follower);
    this.#tellGateways([executionId]);
    this.#schedule();
    return () => {
      free();
      this.#leave(follower);
    };
  }

  hear(items: readonly HandlerOutput[]): void {
    for (const item of items) {
      for (const follower of this.#followers.get(item.executionId) ?? []) {
        if (item.seq > follower.seq) follower.heard(item);
      }
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #leave(follower: Follower): void {
    const { executionId } = follower.row;
    const same = this.#followers.get(executionId);
    if (same?.delete(follower) !== true) return;
    if (same.size > 0) return;
    this.#followers.delete(executionId);
    const { bus } = this.#deps;
    for (const node of bus.nodes("gateway")) {
      bus.send({ node, role: "gateway" }, { kind: "UNFOLLOW", executionIds: [executionId] });
    }
  }

  #tellGateways(executionIds: Iterable<ExecutionId>): void {
    const { bus } = this.#deps;
    const follows = Array.from(executionIds, (executionId) => {
      const followers = [...(this.#followers.get(executionId) ?? [])];
      const after = Math.min(...followers.map(({ seq }) => seq));
      // Only callers of the execution's tenant follow it.
      const [first] = followers;
      return first === undefined ? { executionId, after } : { executionId, after, tenant: first.tenant };
    });
    for (const node of bus.nodes("gateway")) bus.send({ node, role: "gateway" }, { kind: "FOLLOW", follows });
  }

  #schedule(): void {
    if (this.#timer !== null || this.#isClosed) return;
    this.#timer = this.#deps.runtime.setTimer(LOOK_MS, () => void this.#look());
  }

  async #look(): Promise<void> {
    const all = [...this.#followers.values()].flatMap((same) => [...same]);
    if (++this.#looks % RENEW_EVERY_LOOKS === 0) this.#tellGateways(this.#followers.keys());
    const rows = await this.#deps.live.overlay(all.map(({ row }) => row));
    for (const [index, follower] of all.entries()) {
      const row = rows[index];
      if (row !== undefined && isOther(row, follower.row)) follower.changed(row);
    }
    this.#timer = null;
    if (this.#followers.size > 0) this.#schedule();
  }
}

function isOther(a: ExecutionSummary, b: ExecutionSummary): boolean {
  return a.state !== b.state || a.attempt !== b.attempt || a.workerId !== b.workerId;
}
