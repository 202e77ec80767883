import type { Logger } from "pino";
import { clusterLevel } from "../../domain/cluster/feature-level.ts";
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
  plan,
  SETTLE_MS,
  stayingNodes,
  suspects,
} from "./ownership.ts";
import { renewingWhile } from "./renewing.ts";

/** A node that commits nothing is not fenced: how often it looks whether what it holds is still its own. */
const VERIFY_EVERY_MS = 2_000;
/** A shard that is placed here and missing for longer than this is not just about to arrive. */
const BEHIND_MAX_MS = 5_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;

/** Shards that were just taken over. */
export interface Owned {
  term: number;
  epochs: Map<ShardId, Epoch>;
  recovered: Recovered;
  /** The epochs of all shards after that: who takes any over later sees the epochs of these. */
  seen: Map<ShardId, Epoch>;
  /** Gateways that live. */
  gateways: readonly Incarnation[];
}

/** Shards that a node has of those placed on it. */
export interface Share {
  placed: number;
  /** Number of the placed shards that the node has. */
  had: number;
  /** Whether it had all of them once, and does again soon where some have just been placed here. */
  isSettled: boolean;
}

/** The nodes as a renewal of the lease listed them. */
interface Listed {
  living: readonly NodeLease[];
  /** Shards that should be this node's. */
  placed: ReadonlySet<ShardId>;
  /** When the renewal was sent, on the monotonic clock. */
  listedMs: number;
}

/** Terms of a server that shares its store with others. */
export const SHARED: LeaseTerms = { ttlMs: 3_000, renewEveryMs: 200 };
/** There is nobody who could take anything; what is lost is noticed when it is. */
export const ALONE: LeaseTerms = { ttlMs: Number.POSITIVE_INFINITY, renewEveryMs: 60_000 };

export interface HoldingsParts {
  store: Pick<Store, "readShards" | "takeOver" | "recover" | "letGo">;
  /** Reads the settings of pools for the machine. @throws {StoreUnavailable} */
  readPools(): Promise<void>;
  leases: Pick<Leases, "renew" | "release">;
  bus: Bus;
  runtime: Runtime;
  log: Logger;
  profile: NodeProfile;
  terms: LeaseTerms;
  machine: {
    /** The shards in it as they are now, and under which epochs; goes on changing. */
    has(): ReadonlyMap<ShardId, Epoch>;
    own(owned: Owned): void;
    /** Other gateways live than before. */
    gatewaysChanged(): void;
    /** @returns whether they were let go properly, with nothing on its way */
    letGo(shards: readonly ShardId[]): Promise<boolean>;
    drop(reason: string): void;
  };
}

/**
 * Keeps this node the owner of the shards that are placed on it: renews its lease, takes what is placed here and free,
 * lets go what is placed elsewhere. One round after the other, never two at once.
 */
export class Holdings {
  readonly #parts: HoldingsParts;
  readonly #failed = Promise.withResolvers<Error>();
  readonly #settled = Promise.withResolvers<void>();
  /** When shards were lost to others, on the monotonic clock. */
  readonly #fencedAtMs = new Map<ShardId, number>();
  /** Highest epoch of each shard that this node has read or been given. */
  readonly #knownEpochs = new Map<ShardId, Epoch>();
  readonly #placement = new Placement();
  /** As they were listed last. */
  #leases: readonly NodeLease[] = [];
  /** Gateways that lived at the last look, in order. */
  #gatewaysSeen = "";
  #placed: ReadonlySet<ShardId> | null = null;
  /** Since when something is missing; null: since ever, or nothing is. */
  #behindSinceMs: number | null = null;
  #hadAll = false;
  /** Nothing is placed here as long as this node and the owners do not reach each other. */
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

  constructor(parts: HoldingsParts) {
    this.#parts = parts;
  }

  get failed(): Promise<Error> {
    return this.#failed.promise;
  }

  /** Whether the lease stands, by this node's own clock. */
  get trusted(): boolean {
    return this.#parts.runtime.monotonicMs() < this.#trustUntilMs;
  }

  get share(): Share {
    const { machine, runtime } = this.#parts;
    const placed = this.#placed ?? new Set<ShardId>();
    const has = machine.has();
    const had = [...placed].filter((shard) => has.has(shard)).length;
    const behindMs = this.#behindSinceMs === null ? 0 : runtime.monotonicMs() - this.#behindSinceMs;
    const isSettled = this.#hadAll && (had === placed.size || behindMs < BEHIND_MAX_MS);
    return { placed: placed.size, had, isSettled: this.#isCutOff || isSettled };
  }

  /** Resolves after the first round that went well. @throws {StoreUnusable} */
  start(): Promise<void> {
    this.#failed.promise.then((error) => this.#settled.reject(error));
    this.lookAgain();
    return this.#settled.promise;
  }

  /** Others own these now: they are not taken back from them soon. */
  fenced(shards: readonly ShardId[]): void {
    const nowMs = this.#parts.runtime.monotonicMs();
    for (const shard of shards) this.#fencedAtMs.set(shard, nowMs);
  }

  /** Feature level of the cluster: what every node understands whose lease stood when leases were last listed. */
  get level(): number {
    return clusterLevel(this.#leases, this.#parts.profile.level);
  }

  /** A round as soon as may be. @param afterMs below the time that a lease stands */
  lookAgain(afterMs = 0): void {
    if (this.#stopped) return;
    if (this.#round !== null) {
      this.#again = true;
      return;
    }
    this.#timer?.cancel();
    if (afterMs > 0) {
      this.#timer = this.#parts.runtime.setTimer(afterMs, () => this.lookAgain());
      return;
    }
    this.#round = this.#goRound().finally(() => {
      this.#round = null;
    });
  }

  /** Leaves its shards and its lease to others. The machine is empty by now. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#expiry?.cancel();
    this.#settled.resolve();
    await this.#round;
    const { store, leases, profile, log, terms } = this.#parts;
    // Nobody waits for what it leaves: its next life takes everything over.
    if (terms.ttlMs === Number.POSITIVE_INFINITY) return;
    try {
      const held = (await store.readShards()).filter(({ owner }) => owner === profile.incarnation);
      if (held.length > 0) await store.letGo(held);
      await leases.release(profile.incarnation);
    } catch (error) {
      log.warn({ err: error }, "the shards could not be given up; others take them when the lease has run out");
    }
  }

  /** Gateways that live: also those that only this node cannot reach. */
  get gateways(): readonly Incarnation[] {
    const { bus, profile } = this.#parts;
    const reachable = bus.nodes("gateway");
    const leased = livingNodes(this.#leases, suspects(this.#leases, profile.incarnation, reachable), "gateway");
    return [...new Set([...reachable, ...leased.map(({ incarnation }) => incarnation)])];
  }

  /** Which owners may be dead, though their leases stand. */
  get #suspects(): (node: Incarnation) => boolean {
    const { bus, profile } = this.#parts;
    return suspects(this.#leases, profile.incarnation, bus.nodes("scheduler"));
  }

  async #goRound(): Promise<void> {
    const { log, terms, runtime } = this.#parts;
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
    const { machine, profile, runtime, terms } = this.#parts;
    const listedMs = runtime.monotonicMs();
    const leases = await this.#renew();
    const living = livingNodes(leases, this.#suspects);
    const owners = owningNodes(living, leases);
    this.#isCutOff = !owners.some(({ incarnation }) => incarnation === profile.incarnation);
    const placed = this.#placement.here(profile.incarnation, stayingNodes(owners, leases));
    this.#compare(placed);
    const isAlone = leases.every(({ incarnation }) => incarnation === profile.incarnation);
    if (isSame(placed, machine.has()) && (isAlone || !this.#isTimeToVerify())) return;
    // The lease must not run out while a call to the store hangs: others would take the shards, as slowly.
    const renewing = { runtime, everyMs: terms.renewEveryMs, renew: () => this.#renew() };
    await renewingWhile(renewing, this.#takeAndLetGo({ living, placed, listedMs }));
  }

  async #takeAndLetGo({ living, placed, listedMs }: Listed): Promise<void> {
    const { machine, profile, runtime, terms } = this.#parts;
    const holders = await this.#readShards();
    await this.#letGoOvertaken(holders);
    const mine = new Map(machine.has());
    // Shards of an earlier machine of this node that are placed elsewhere since: no other node may take them as long as
    // they have this owner.
    const left = holders.filter(
      (held) => held.owner === profile.incarnation && !mine.has(held.shard) && !placed.has(held.shard),
    );
    if (left.length > 0) await this.#parts.store.letGo(left);
    const isSettling = (shard: ShardId) =>
      runtime.monotonicMs() - (this.#fencedAtMs.get(shard) ?? Number.NEGATIVE_INFINITY) < SETTLE_MS;
    const isCutOff = this.#isCutOff;
    const next = plan({ me: profile.incarnation, living, isCutOff, placed, holders, mine, isSettling });
    // The list of nodes is older than a lease by now: a node that it lacks may live again.
    const isOutdated = runtime.monotonicMs() - listedMs >= terms.ttlMs;
    if (this.#stopped || isOutdated || !this.trusted) return;
    if (next.take.length > 0) await this.#take(next.take);
    this.#compare(placed);
    if (next.letGo.length > 0) await this.#letGo(next.letGo, holders);
  }

  #compare(placed: ReadonlySet<ShardId>): void {
    const { machine, runtime } = this.#parts;
    this.#placed = placed;
    const has = machine.has();
    const hasAll = [...placed].every((shard) => has.has(shard));
    this.#hadAll ||= hasAll && !this.#isCutOff;
    this.#behindSinceMs = hasAll ? null : (this.#behindSinceMs ?? runtime.monotonicMs());
  }

  #isTimeToVerify(): boolean {
    return this.#parts.runtime.monotonicMs() - this.#verifiedAtMs >= VERIFY_EVERY_MS;
  }

  /**
   * Another node has become the owner of these shards, and perhaps let them go again, without this node having noticed.
   */
  async #letGoOvertaken(holders: readonly ShardHolder[]): Promise<void> {
    const { machine, profile, runtime } = this.#parts;
    this.#verifiedAtMs = runtime.monotonicMs();
    const mine = machine.has();
    const overtaken = holders
      .filter(
        ({ shard, owner, epoch }) => mine.has(shard) && (owner !== profile.incarnation || epoch !== mine.get(shard)),
      )
      .map(({ shard }) => shard);
    if (overtaken.length === 0) return;
    this.fenced(overtaken);
    await machine.letGo(overtaken);
  }

  /** Trust counts from before the call: a slow answer must not stretch it. */
  async #renew(): Promise<NodeLease[]> {
    const { leases, runtime, profile, machine, terms } = this.#parts;
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

  /** The workers of a gateway that is gone concern every shard, also of an owner that takes nothing over. */
  #lookAtGateways(): void {
    const seen = [...this.gateways].sort().join();
    if (seen === this.#gatewaysSeen) return;
    this.#gatewaysSeen = seen;
    this.#parts.machine.gatewaysChanged();
  }

  async #take(wanted: readonly ShardHolder[]): Promise<void> {
    const { machine, log } = this.#parts;
    const taken = await this.#takeOver(wanted);
    if (taken === null || this.#stopped || !this.trusted) return;
    log.info({ shards: taken.epochs.size }, "the node took shards over");
    machine.own({ term: ++this.#term, gateways: this.gateways, ...taken });
  }

  /** @returns all that the machine needs; null: others were faster */
  async #takeOver(wanted: readonly ShardHolder[]): Promise<Omit<Owned, "term" | "gateways"> | null> {
    const { store, profile } = this.#parts;
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
    // After the takeover: whoever changes a pool asks the owners that the store shows after the change.
    await this.#parts.readPools();
    const epochsNow = new Map((await this.#readShards()).map(({ shard, epoch }) => [shard, epoch]));
    return { epochs, recovered, seen: epochsNow };
  }

  async #readShards(): Promise<ShardHolder[]> {
    const holders = await this.#parts.store.readShards();
    for (const { shard, epoch } of holders) {
      this.#knownEpochs.set(shard, Math.max(epoch, this.#knownEpochs.get(shard) ?? 0));
    }
    return holders;
  }

  async #letGo(shards: readonly ShardId[], holders: readonly ShardHolder[]): Promise<void> {
    const { store, machine, profile } = this.#parts;
    if (!(await machine.letGo(shards))) return;
    const held = holders.filter(({ shard, owner }) => shards.includes(shard) && owner === profile.incarnation);
    await store.letGo(held);
  }
}

function isSame(placed: ReadonlySet<ShardId>, mine: ReadonlyMap<ShardId, Epoch>): boolean {
  return placed.size === mine.size && [...placed].every((shard) => mine.has(shard));
}
