import { isOn } from "../../domain/cluster/feature-level.ts";
import type { Incarnation } from "../../domain/ids.ts";
import type { Pool, PoolChange } from "../../domain/pool.ts";
import type { Bus } from "../../ports/bus.ts";
import type { KnownNode, Leases } from "../../ports/leases.ts";
import type { OwnedShard } from "../../ports/messages.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { ShardHolder, Store } from "../../ports/store.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import type { Inbox } from "../inbox.ts";
import type { PoolOrderings } from "./pool-orderings.ts";

/**
 * Longest wait for the owners of shards to confirm a change, in milliseconds: long enough for a takeover from a killed
 * node.
 */
const CONFIRM_WITHIN_MS = 2_000;
/**
 * Longest wait for one answer, in milliseconds: longer than a commit takes, because an owner answers after its commit
 * in progress.
 */
const ANSWER_TIMEOUT_MS = 600;
/** Interval of repeated questions to an owner that has not taken over all its shards yet, in milliseconds. */
const ASK_EVERY_MS = 25;

interface ChangerDependencies {
  store: Pick<Store, "putPool" | "readShards">;
  leases: Pick<Leases, "list">;
  bus: Bus;
  inbox: Inbox;
  runtime: Runtime;
  orderings: PoolOrderings;
}

/** An owner of shards that has not confirmed a change. */
export interface PoolOwner {
  nodeId: Incarnation;
  /** Address where other nodes reach it, as host:port; null: its lease ended long ago. */
  address: string | null;
}

export interface ChangedPool {
  pool: Pool;
  /** Owners that have not confirmed; empty: every owner applies the new settings. */
  unconfirmedBy: PoolOwner[];
}

/** Changes the settings of pools, and waits until the owners of all shards confirm that they apply them. */
export class PoolChanger {
  readonly #deps: ChangerDependencies;

  constructor(deps: ChangerDependencies) {
    this.#deps = deps;
  }

  /** @throws {StoreUnavailable} the change may or may not have happened */
  async put(change: PoolChange, note?: AuditNote): Promise<ChangedPool> {
    const { store, orderings } = this.#deps;
    const pool = await store.putPool(change, note);
    orderings.forget();
    return { pool, unconfirmedBy: await this.#confirm() };
  }

  /**
   * Collects confirmations after the change is written. An owner that the store does not show yet reads the settings
   * after its takeover; an owner that has lost its shards can no longer commit.
   */
  async #confirm(): Promise<PoolOwner[]> {
    const { store, leases, runtime } = this.#deps;
    const untilMs = runtime.monotonicMs() + CONFIRM_WITHIN_MS;
    const confirmed = new Set<string>();
    for (;;) {
      // The list of nodes only adds levels and addresses; without it, every owner is asked.
      const [holders, nodes] = await Promise.all([store.readShards(), leases.list().catch(() => [])]);
      const asked = ownersOf(holders, confirmed);
      if (asked.length === 0) return [];
      const able = asked.filter((owner) => !isTooOld(nodes, owner));
      await this.#ask(able, confirmed);
      const silent = ownersOf(holders, confirmed);
      if (silent.length === 0) return [];
      if (able.length === 0 || runtime.monotonicMs() >= untilMs) return silent.map((owner) => named(nodes, owner));
      await new Promise<void>((resolve) => void runtime.setTimer(ASK_EVERY_MS, resolve));
    }
  }

  /** @param confirmed receives the shards whose owners have answered */
  async #ask(owners: readonly Incarnation[], confirmed: Set<string>): Promise<void> {
    const { bus, inbox, runtime } = this.#deps;
    const request = runtime.uuid();
    const answered = inbox.collectBySender(request, owners.length, ANSWER_TIMEOUT_MS);
    for (const node of owners) bus.send({ node, role: "scheduler" }, { kind: "APPLY_POOLS", request });
    for (const [owner, answer] of await answered) {
      if (answer.kind !== "POOLS_APPLIED") continue;
      for (const shard of answer.shards) confirmed.add(holdingKey(owner, shard));
    }
  }
}

/** Key of a shard and its epoch. A node confirms for the shards that it has in memory, under their epochs. */
function holdingKey(owner: Incarnation, { shard, epoch }: OwnedShard): string {
  return `${owner} ${shard} ${epoch}`;
}

function ownersOf(holders: readonly ShardHolder[], confirmed: ReadonlySet<string>): Incarnation[] {
  const owners = new Set<Incarnation>();
  for (const held of holders) {
    if (held.owner !== null && !confirmed.has(holdingKey(held.owner, held))) owners.add(held.owner);
  }
  return [...owners];
}

/** Whether the node lives and does not know the question. */
function isTooOld(nodes: readonly KnownNode[], owner: Incarnation): boolean {
  return nodes.some(
    ({ incarnation, isLiving, level }) => incarnation === owner && isLiving && !isOn("POOL_CONFIRMATIONS", level),
  );
}

function named(nodes: readonly KnownNode[], owner: Incarnation): PoolOwner {
  const address = nodes.find(({ incarnation }) => incarnation === owner)?.address ?? null;
  return { nodeId: owner, address };
}
