import type { Logger } from "pino";
import { clusterLevel, type Feature, isOn, lackingNode } from "./domain/cluster/feature-level.ts";
import { Links } from "./domain/cluster/links.ts";
import { isCutOff, isLinked, largestGroup } from "./domain/cluster/reach.ts";
import type { Bus } from "./ports/bus.ts";
import type { Leases, NodeLease } from "./ports/leases.ts";
import type { Runtime } from "./ports/runtime.ts";
import { livingNodes, SUSPECT_AFTER_MS, suspects } from "./scheduler/ownership/ownership-rules.ts";

/**
 * Time in ms for which a node must be cut off before it logs a warning: a node that has just started is cut off until
 * the others have connected to it.
 */
const CUT_OFF_AFTER_MS = 2_000;

export interface MembershipDependencies {
  leases: Leases;
  bus: Pick<Bus, "node" | "nodes" | "connected">;
  runtime: Runtime;
  log: Logger;
  /** Feature level of this node. */
  level: number;
  /** Called with the leases of every successful renewal. */
  told(nodes: readonly NodeLease[]): void;
}

/** Reachability between this node and the others. */
export interface Reach {
  /** Whether the node is cut off: it and the owners of shards do not reach each other. */
  isCutOff: boolean;
  /** Number of nodes that may own shards, including this node if it may. */
  owners: number;
  /** Addresses of living nodes with which this node has no link in both directions. */
  unreached: string[];
}

/** A node's knowledge of the living nodes, from the renewals of its own lease. */
export class Membership {
  /** The node's leases. Renewals through them update this membership. */
  readonly leases: Leases;
  /** Number of successful and failed renewals of this node's lease. */
  readonly renewals = { ok: 0, failed: 0 };
  readonly #deps: MembershipDependencies;
  readonly #links = new Links();
  #nodes: readonly NodeLease[] = [];
  /** Nodes that may own shards as of the last renewal, regardless of the cluster's feature level. */
  #owners: readonly NodeLease[] = [];
  #renewedMs = Number.NEGATIVE_INFINITY;
  #trustUntilMs = Number.NEGATIVE_INFINITY;
  /** Time since which the node is cut off, on the monotonic clock; null: the node is not cut off. */
  #cutOffSinceMs: number | null = null;
  #hasWarned = false;
  /** Addresses of the nodes that keep this one from having one leader, as they were last logged. */
  #unwilling = "";

  constructor(deps: MembershipDependencies) {
    this.#deps = deps;
    const { leases } = deps;
    this.leases = {
      release: (node) => leases.release(node),
      list: () => leases.list(),
      drain: (node, isDraining) => leases.drain(node, isDraining),
      renew: (profile, ttlMs) => this.#renew(profile, ttlMs),
    };
  }

  /** Living nodes as of the last renewal. */
  get nodes(): readonly NodeLease[] {
    return this.#nodes;
  }

  /** Whether this node's own lease is valid. */
  get stands(): boolean {
    return this.#deps.runtime.monotonicMs() < this.#trustUntilMs;
  }

  /** Milliseconds since the last successful renewal; infinite before the first one. */
  get silentMs(): number {
    return this.#deps.runtime.monotonicMs() - this.#renewedMs;
  }

  /** Feature level that every living node understands; a node must not use newer features yet. */
  get level(): number {
    return clusterLevel(this.#nodes, this.#deps.level);
  }

  /** A living node that lacks the feature, so that no node may use it; null: all nodes have it. */
  lacking(feature: Feature): Pick<NodeLease, "address" | "version" | "level"> | null {
    return lackingNode(this.#nodes, feature);
  }

  /** Whether this node must hand its work to the other nodes. */
  get isDraining(): boolean {
    return this.#me?.draining === true && isOn("DRAINING", this.level);
  }

  /**
   * Whether this node sends its workers to other gateways: it drains or is cut off, and there is a gateway that is not.
   */
  get sendsWorkersAway(): boolean {
    const owners = this.#owners;
    const isUseless = this.#isCutOffForLong && this.#me !== undefined && isCutOff(this.#me, owners, false);
    if (!this.isDraining && !isUseless) return false;
    return this.#nodes.some(
      (node) => node !== this.#me && node.roles.includes("gateway") && !node.draining && !isCutOff(node, owners, false),
    );
  }

  /** Reachability as of the last renewal. */
  get reach(): Reach {
    const [me, owners] = [this.#me, this.#owners];
    if (me === undefined) return { isCutOff: false, owners: owners.length, unreached: [] };
    return {
      isCutOff: isCutOff(me, owners, me.roles.includes("scheduler")),
      owners: owners.length,
      unreached: this.#nodes.filter((node) => node !== me && !isLinked(me, node)).map(({ address }) => address),
    };
  }

  get #me(): NodeLease | undefined {
    return this.#nodes.find(({ incarnation }) => incarnation === this.#deps.bus.node);
  }

  get #isCutOffForLong(): boolean {
    if (this.#cutOffSinceMs === null) return false;
    return this.#deps.runtime.monotonicMs() - this.#cutOffSinceMs >= CUT_OFF_AFTER_MS;
  }

  async #renew(profile: Parameters<Leases["renew"]>[0], ttlMs: number): Promise<NodeLease[]> {
    const { leases, runtime, told } = this.#deps;
    const beganMs = runtime.monotonicMs();
    try {
      const wasDraining = this.#me?.draining ?? false;
      this.#nodes = await leases.renew({ ...profile, wasDraining, reaches: this.#reached() }, ttlMs);
    } catch (error) {
      this.renewals.failed++;
      throw error;
    }
    this.renewals.ok++;
    this.#renewedMs = beganMs;
    this.#trustUntilMs = beganMs + ttlMs;
    this.#lookAtReach();
    this.#lookAtLeader();
    told(this.#nodes);
    return [...this.#nodes];
  }

  #reached(): string[] {
    const { bus, runtime } = this.#deps;
    const connected = new Set(bus.connected());
    const others = this.#nodes.filter(({ incarnation }) => incarnation !== bus.node);
    const observations = others.map(({ incarnation, renewedAgoMs }) => ({
      incarnation,
      isConnected: connected.has(incarnation),
      isFresh: renewedAgoMs <= SUSPECT_AFTER_MS,
    }));
    return [bus.node, ...this.#links.look(runtime.monotonicMs(), observations)];
  }

  /** Says once which nodes divide the shards although this one wants one leader. */
  #lookAtLeader(): void {
    if (this.#me?.wantsLeader !== true) return;
    const schedulers = this.#nodes.filter(({ roles }) => roles.includes("scheduler"));
    const unwilling = schedulers.filter(({ wantsLeader }) => wantsLeader !== true).map(({ address }) => address);
    if (unwilling.join() !== this.#unwilling && unwilling.length > 0)
      this.#deps.log.warn(
        { nodes: unwilling },
        "not all nodes have MAINSPRING_LEADER=one, so the nodes divide the shards until these have it, too",
      );
    this.#unwilling = unwilling.join();
  }

  #lookAtReach(): void {
    const { bus, log, runtime } = this.#deps;
    this.#owners = largestGroup(livingNodes(this.#nodes, suspects(this.#nodes, bus.node, bus.nodes("scheduler"))));
    const { isCutOff: isOut, ...reach } = this.reach;
    if (!isOut) {
      if (this.#hasWarned)
        log.info("this node and the owners of shards reach each other again: it takes part in the work");
      this.#cutOffSinceMs = null;
      this.#hasWarned = false;
      return;
    }
    this.#cutOffSinceMs ??= runtime.monotonicMs();
    if (this.#hasWarned || !this.#isCutOffForLong) return;
    this.#hasWarned = true;
    log.warn(
      reach,
      "this node is cut off: it and the nodes that own shards do not reach each other, so it takes no shards. " +
        "It goes on trying; check MAINSPRING_API_KEY and MAINSPRING_ADVERTISE on it, and the network between the nodes",
    );
  }
}

/**
 * Feature level of the cluster as far as a node knows it: its own before it knows the other nodes. Workers connect before that, while the
 * node waits for leases, Kafka or Redis, and no owner hears of their steps then.
 */
export class KnownLevel {
  #of: { readonly level: number };

  /** @param own feature level of the node */
  constructor(own: number) {
    this.#of = { level: own };
  }

  follow(membership: { readonly level: number }): void {
    this.#of = membership;
  }

  /** Whether every node that is known understands records of handlers. */
  readonly takesSteps = (): boolean => isOn("DURABLE_STEPS", this.#of.level) && isOn("SUSPENSION", this.#of.level);
}
