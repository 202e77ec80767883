import type { Logger } from "pino";
import { clusterLevel } from "../../domain/cluster/feature-level.ts";
import { deferred } from "../../domain/deferred.ts";
import type { Epoch, Incarnation, ShardId } from "../../domain/ids.ts";
import type { Bus } from "../../ports/bus.ts";
import type { Leases, NodeLease, NodeProfile } from "../../ports/leases.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import { type Recovered, type ShardHolder, type Store, StoreUnusable } from "../../ports/store.ts";
import {
  type LeaseTerms,
  livingNodes,
  nextDeathMs,
  owningNodes,
  Placement,
  placedNodes,
  planOwnership,
  SETTLE_MS,
  suspects,
} from "./ownership-rules.ts";
import { renewingWhile } from "./renewing.ts";

/**
 * Interval in ms at which a node checks in the store whether it still owns its shards. A node that commits nothing
 * would not be fenced.
 */
const VERIFY_EVERY_MS = 2_000;
/** Time in ms after which a shard that is placed here and missing counts as late, not as about to arrive. */
const BEHIND_MAX_MS = 5_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;

/** Shards that were just taken over. */
export interface Owned {
  term: number;
  epochs: Map<ShardId, Epoch>;
  recovered: Recovered;
  /**
   * Epochs of all shards, read after the takeover. A node that takes over shards later sees the epochs of this
   * takeover.
   */
  seen: Map<ShardId, Epoch>;
  /** Gateways that are alive. */
  gateways: readonly Incarnation[];
}

/** Number of shards that are placed on a node, and how many of them it has. */
export interface Share {
  placed: number;
  /** Number of the placed shards that the node has. */
  had: number;
  /** Whether the node once had all of them, and has them again or will soon have those that were just placed here. */
  isSettled: boolean;
}

/** Nodes that a renewal of the lease listed. */
interface Listed {
  living: readonly NodeLease[];
  /** Shards that should be this node's. */
  placed: ReadonlySet<ShardId>;
  /** Time at which the renewal was sent, on the monotonic clock. */
  listedMs: number;
}

/** Lease terms of a server that shares its store with others. */
export const SHARED: LeaseTerms = { ttlMs: 3_000, renewEveryMs: 200 };
/**
 * Lease terms of a server that uses its store alone. No other node can take over its shards, so the lease never ends.
 */
export const ALONE: LeaseTerms = { ttlMs: Number.POSITIVE_INFINITY, renewEveryMs: 60_000 };

export interface ShardOwnershipDependencies {
  store: Pick<Store, "readShards" | "takeOver" | "recover" | "releaseShards">;
  /** Reads the settings of pools for the machine. @throws {StoreUnavailable} */
  readPools(): Promise<void>;
  leases: Pick<Leases, "renew" | "release">;
  bus: Bus;
  runtime: Runtime;
  log: Logger;
  profile: NodeProfile;
  terms: LeaseTerms;
  machine: {
    /** The machine's shards with their epochs: a live view. */
    has(): ReadonlyMap<ShardId, Epoch>;
    own(owned: Owned): void;
    /** Reports that the set of living gateways has changed. */
    gatewaysChanged(): void;
    /** Removes shards from the machine. @returns whether they were released with no commit in flight */
    releaseShards(shards: readonly ShardId[]): Promise<boolean>;
    drop(reason: string): void;
  };
}

/**
 * Keeps this node the owner of the shards that are placed on it: renews its lease, takes over free shards that are
 * placed here, and releases shards that are placed elsewhere. Rounds never overlap.
 */
export class ShardOwnership {
  readonly #deps: ShardOwnershipDependencies;
  readonly #failed = deferred<Error>();
  readonly #settled = deferred<void>();
  /** Time at which each shard was lost to another node, on the monotonic clock. */
  readonly #fencedAtMs = new Map<ShardId, number>();
  /** Highest epoch of each shard that this node has read or received. */
  readonly #knownEpochs = new Map<ShardId, Epoch>();
  readonly #placement = new Placement();
  /** Leases as they were last listed. */
  #leases: readonly NodeLease[] = [];
  /** Sorted list of the gateways that were alive at the last check. */
  #gatewaysSeen = "";
  #placed: ReadonlySet<ShardId> | null = null;
  /** Time since which a placed shard is missing, on the monotonic clock; null: none is, or not compared yet. */
  #behindSinceMs: number | null = null;
  #hadAll = false;
  /** Whether this node and the owners do not reach each other. No shards are placed on such a node. */
  #isCutOff = false;
  #term = 0;
  #verifiedAtMs = Number.NEGATIVE_INFINITY;
  #trustUntilMs = Number.NEGATIVE_INFINITY;
  #retryMs = FIRST_RETRY_MS;
  #timer: Timer | null = null;
  #expiry: Timer | null = null;
  #round: Promise<void> | null = null;
  #again = false;
  #stopped = false;

  constructor(deps: ShardOwnershipDependencies) {
    this.#deps = deps;
  }

  get failed(): Promise<Error> {
    return this.#failed.promise;
  }

  /** Whether the lease is valid by this node's own clock. */
  get trusted(): boolean {
    return this.#deps.runtime.monotonicMs() < this.#trustUntilMs;
  }

  get share(): Share {
    const { machine, runtime } = this.#deps;
    const placed = this.#placed ?? new Set<ShardId>();
    const has = machine.has();
    const had = [...placed].filter((shard) => has.has(shard)).length;
    const behindMs = this.#behindSinceMs === null ? 0 : runtime.monotonicMs() - this.#behindSinceMs;
    const isSettled = this.#hadAll && (had === placed.size || behindMs < BEHIND_MAX_MS);
    return { placed: placed.size, had, isSettled: this.#isCutOff || isSettled };
  }

  /** Starts the rounds. Resolves after the first successful round. @throws {StoreUnusable} */
  start(): Promise<void> {
    this.#failed.promise.then((error) => this.#settled.reject(error));
    this.lookAgain();
    return this.#settled.promise;
  }

  /** Notes shards that other nodes own now. This node does not take them back soon. */
  fenced(shards: readonly ShardId[]): void {
    const nowMs = this.#deps.runtime.monotonicMs();
    for (const shard of shards) this.#fencedAtMs.set(shard, nowMs);
  }

  /** Feature level that every node understands whose lease was valid when leases were last listed. */
  get level(): number {
    return clusterLevel(this.#leases, this.#deps.profile.level);
  }

  /** Starts a round as soon as possible. @param afterMs delay in ms, below the duration of a lease */
  lookAgain(afterMs = 0): void {
    if (this.#stopped) return;
    if (this.#round !== null) {
      this.#again = true;
      return;
    }
    this.#timer?.cancel();
    if (afterMs > 0) {
      this.#timer = this.#deps.runtime.setTimer(afterMs, () => this.lookAgain());
      return;
    }
    this.#round = this.#goRound().finally(() => {
      this.#round = null;
    });
  }

  /** Releases the shards and the lease. The machine is empty by now. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#expiry?.cancel();
    this.#settled.resolve();
    await this.#round;
    const { store, leases, profile, log, terms } = this.#deps;
    // No other node waits for the shards of a server that is alone: its next start takes all of them over.
    if (terms.ttlMs === Number.POSITIVE_INFINITY) return;
    try {
      const held = (await store.readShards()).filter(({ owner }) => owner === profile.incarnation);
      if (held.length > 0) await store.releaseShards(held);
      await leases.release(profile.incarnation);
    } catch (error) {
      log.warn(
        { err: error },
        "the node could not release its shards; others take them over when its lease has run out",
      );
    }
  }

  /** Gateways that are alive, including gateways that only this node cannot reach. */
  get gateways(): readonly Incarnation[] {
    const { bus, profile } = this.#deps;
    const reachable = bus.nodes("gateway");
    const leased = livingNodes(this.#leases, suspects(this.#leases, profile.incarnation, reachable), "gateway");
    return [...new Set([...reachable, ...leased.map(({ incarnation }) => incarnation)])];
  }

  /** Tells which owners may be dead although their leases are valid. */
  get #suspects(): (node: Incarnation) => boolean {
    const { bus, profile } = this.#deps;
    return suspects(this.#leases, profile.incarnation, bus.nodes("scheduler"));
  }

  async #goRound(): Promise<void> {
    const { log, terms, runtime } = this.#deps;
    let nextMs = terms.renewEveryMs;
    try {
      await this.#look();
      nextMs = Math.min(nextMs, nextDeathMs(this.#leases, this.#suspects, terms));
      this.#retryMs = FIRST_RETRY_MS;
      this.#settled.resolve();
    } catch (error) {
      if (error instanceof StoreUnusable) return this.#failed.resolve(error);
      if (!this.#stopped)
        log.warn({ err: error }, "the node could not renew its lease or look at the shards, and tries again");
      nextMs = this.#retryMs;
      this.#retryMs = Math.min(2 * this.#retryMs, LAST_RETRY_MS);
    }
    if (this.#stopped) return;
    if (this.#again) nextMs = Math.min(nextMs, FIRST_RETRY_MS);
    this.#again = false;
    this.#timer = runtime.setTimer(nextMs, () => this.lookAgain());
  }

  async #look(): Promise<void> {
    const { machine, profile, runtime, terms } = this.#deps;
    const listedMs = runtime.monotonicMs();
    const leases = await this.#renew();
    const living = livingNodes(leases, this.#suspects);
    const owners = owningNodes(living, leases);
    this.#isCutOff = !owners.some(({ incarnation }) => incarnation === profile.incarnation);
    const placed = this.#placement.here(profile.incarnation, placedNodes(owners, leases));
    this.#compare(placed);
    const isAlone = leases.every(({ incarnation }) => incarnation === profile.incarnation);
    if (isSame(placed, machine.has()) && (isAlone || !this.#isTimeToVerify())) return;
    // The lease must not run out while a call to the store hangs, because other nodes would take over the shards, and
    // would be as slow.
    const renewing = { runtime, everyMs: terms.renewEveryMs, renew: () => this.#renew() };
    await renewingWhile(renewing, this.#acquireAndRelease({ living, placed, listedMs }));
  }

  async #acquireAndRelease({ living, placed, listedMs }: Listed): Promise<void> {
    const { machine, profile, runtime, terms } = this.#deps;
    const holders = await this.#readShards();
    await this.#releaseOvertaken(holders);
    const mine = new Map(machine.has());
    // Shards of an earlier machine of this node that are placed elsewhere now. No other node may take them over while
    // they have this owner.
    const left = holders.filter(
      (held) => held.owner === profile.incarnation && !mine.has(held.shard) && !placed.has(held.shard),
    );
    if (left.length > 0) await this.#deps.store.releaseShards(left);
    const isSettling = (shard: ShardId) =>
      runtime.monotonicMs() - (this.#fencedAtMs.get(shard) ?? Number.NEGATIVE_INFINITY) < SETTLE_MS;
    const isCutOff = this.#isCutOff;
    const next = planOwnership({ me: profile.incarnation, living, isCutOff, placed, holders, mine, isSettling });
    // The list of nodes may be older than a lease by now: a node that is not listed may be alive again.
    const isOutdated = runtime.monotonicMs() - listedMs >= terms.ttlMs;
    if (this.#stopped || isOutdated || !this.trusted) return;
    if (next.take.length > 0) await this.#take(next.take);
    this.#compare(placed);
    if (next.release.length > 0) await this.#release(next.release, holders);
  }

  #compare(placed: ReadonlySet<ShardId>): void {
    const { machine, runtime } = this.#deps;
    this.#placed = placed;
    const has = machine.has();
    const hasAll = [...placed].every((shard) => has.has(shard));
    this.#hadAll ||= hasAll && !this.#isCutOff;
    this.#behindSinceMs = hasAll ? null : (this.#behindSinceMs ?? runtime.monotonicMs());
  }

  #isTimeToVerify(): boolean {
    return this.#deps.runtime.monotonicMs() - this.#verifiedAtMs >= VERIFY_EVERY_MS;
  }

  /** Removes shards that another node has taken over, and perhaps released again, without this node having noticed. */
  async #releaseOvertaken(holders: readonly ShardHolder[]): Promise<void> {
    const { machine, profile, runtime } = this.#deps;
    this.#verifiedAtMs = runtime.monotonicMs();
    const mine = machine.has();
    const overtaken = holders
      .filter(
        ({ shard, owner, epoch }) => mine.has(shard) && (owner !== profile.incarnation || epoch !== mine.get(shard)),
      )
      .map(({ shard }) => shard);
    if (overtaken.length === 0) return;
    this.fenced(overtaken);
    await machine.releaseShards(overtaken);
  }

  /** Renews the lease. Trust in it counts from before the call, so that a slow answer does not extend it. */
  async #renew(): Promise<NodeLease[]> {
    const { leases, runtime, profile, machine, terms } = this.#deps;
    const beganMs = runtime.monotonicMs();
    const nodes = await leases.renew(profile, terms.ttlMs);
    this.#leases = nodes;
    this.#lookAtGateways();
    this.#trustUntilMs = beganMs + terms.ttlMs;
    this.#expiry?.cancel();
    const expire = () => machine.drop("the lease ran out");
    if (!this.#stopped && Number.isFinite(terms.ttlMs))
      this.#expiry = runtime.setTimer(Math.max(0, this.#trustUntilMs - runtime.monotonicMs()), expire);
    return nodes;
  }

  /**
   * Informs the machine when the set of living gateways changes: the workers of a gateway that is gone concern every
   * owner, even one that takes no shards over.
   */
  #lookAtGateways(): void {
    const seen = [...this.gateways].sort().join();
    if (seen === this.#gatewaysSeen) return;
    this.#gatewaysSeen = seen;
    this.#deps.machine.gatewaysChanged();
  }

  async #take(wanted: readonly ShardHolder[]): Promise<void> {
    const { machine, log } = this.#deps;
    const taken = await this.#takeOver(wanted);
    if (taken === null || this.#stopped || !this.trusted) return;
    log.info({ shards: taken.epochs.size }, "the node took shards over");
    machine.own({ term: ++this.#term, gateways: this.gateways, ...taken });
  }

  /** Takes over shards. @returns all that the machine needs; null: other nodes were faster */
  async #takeOver(wanted: readonly ShardHolder[]): Promise<Omit<Owned, "term" | "gateways"> | null> {
    const { store, profile } = this.#deps;
    const seen = wanted.map(({ shard, epoch }) => ({
      shard,
      epoch,
      knownEpoch: this.#knownEpochs.get(shard) ?? epoch,
    }));
    const answers = await store.takeOver(seen, profile.incarnation);
    const epochs = new Map<ShardId, Epoch>();
    wanted.forEach(({ shard }, i) => {
      const epoch = answers[i];
      if (epoch == null) return;
      epochs.set(shard, epoch);
      this.#knownEpochs.set(shard, epoch);
    });
    if (epochs.size === 0) return null;
    const recovered = await store.recover([...epochs.keys()]);
    // The settings are read after the takeover, because a node that changes a pool then asks the owners that the store
    // shows.
    await this.#deps.readPools();
    const epochsNow = new Map((await this.#readShards()).map(({ shard, epoch }) => [shard, epoch]));
    return { epochs, recovered, seen: epochsNow };
  }

  async #readShards(): Promise<ShardHolder[]> {
    const holders = await this.#deps.store.readShards();
    for (const { shard, epoch } of holders) {
      this.#knownEpochs.set(shard, Math.max(epoch, this.#knownEpochs.get(shard) ?? 0));
    }
    return holders;
  }

  async #release(shards: readonly ShardId[], holders: readonly ShardHolder[]): Promise<void> {
    const { store, machine, profile } = this.#deps;
    if (!(await machine.releaseShards(shards))) return;
    const held = holders.filter(({ shard, owner }) => shards.includes(shard) && owner === profile.incarnation);
    await store.releaseShards(held);
  }
}

function isSame(placed: ReadonlySet<ShardId>, mine: ReadonlyMap<ShardId, Epoch>): boolean {
  return placed.size === mine.size && [...placed].every((shard) => mine.has(shard));
}
