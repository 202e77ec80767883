import type { Logger } from "pino";
import { clusterLevel, type Feature, isOn, lackingNode } from "./domain/cluster/feature-level.ts";
import { Links } from "./domain/cluster/links.ts";
import { isCutOff, isLinked, largestGroup } from "./domain/cluster/reach.ts";
import type { Bus } from "./ports/bus.ts";
import type { Leases, NodeLease } from "./ports/leases.ts";
import type { Runtime } from "./ports/runtime.ts";
import { livingNodes, SUSPECT_AFTER_MS, suspects } from "./scheduler/ownership/ownership.ts";

/** A node that has just come is cut off until the others have connected to it: only later is it worth a word. */
const CUT_OFF_AFTER_MS = 2_000;

export interface MembershipParts {
  leases: Leases;
  bus: Pick<Bus, "node" | "nodes" | "connected">;
  runtime: Runtime;
  log: Logger;
  /** Feature level of this node. */
  level: number;
  /** Hears of every renewal that went well. */
  told(nodes: readonly NodeLease[]): void;
}

/** How this node and the others reach each other. */
export interface Reach {
  /** It can do nothing for the owners of shards. */
  isCutOff: boolean;
  /** Nodes that may own shards, this one included where it is one of them. */
  owners: number;
  /** Addresses of living nodes with which it has no link in both directions. */
  unreached: string[];
}

/** A node's knowledge of the living nodes, from the renewals of its own lease. */
export class Membership {
  /** To be renewed by. */
  readonly leases: Leases;
  /** Renewals of this node's lease. */
  readonly renewals = { ok: 0, failed: 0 };
  readonly #parts: MembershipParts;
  readonly #links = new Links();
  #nodes: readonly NodeLease[] = [];
  /** Nodes that may own shards, as of the last renewal, whatever the level of the cluster is. */
  #owners: readonly NodeLease[] = [];
  #renewedMs = Number.NEGATIVE_INFINITY;
  #trustUntilMs = Number.NEGATIVE_INFINITY;
  /** On the monotonic clock; null: it is not. */
  #cutOffSinceMs: number | null = null;
  #hasWarned = false;

  constructor(parts: MembershipParts) {
    this.#parts = parts;
    const { leases } = parts;
    this.leases = {
      release: (node) => leases.release(node),
      list: () => leases.list(),
      drain: (node, isDraining) => leases.drain(node, isDraining),
      renew: (profile, ttlMs) => this.#renew(profile, ttlMs),
    };
  }

  /** As of the last renewal. */
  get nodes(): readonly NodeLease[] {
    return this.#nodes;
  }

  /** Whether this node's own lease stands. */
  get stands(): boolean {
    return this.#parts.runtime.monotonicMs() < this.#trustUntilMs;
  }

  /** Since the last renewal that went well; infinite before the first one. */
  get silentMs(): number {
    return this.#parts.runtime.monotonicMs() - this.#renewedMs;
  }

  /** Feature level that every living node understands; a node must not use newer features yet. */
  get level(): number {
    return clusterLevel(this.#nodes, this.#parts.level);
  }

  /** A living node that does not know the feature, so that nobody may use it; null: all know it. */
  lacking(feature: Feature): Pick<NodeLease, "address" | "version" | "level"> | null {
    return lackingNode(this.#nodes, feature);
  }

  /** Whether this node is to give its work to the others. */
  get isDraining(): boolean {
    return this.#me?.draining === true && isOn("DRAINING", this.level);
  }

  /** Whether the workers of this node are to go to another gateway, because there is one and this one is of no use to them. */
  get sendsWorkersAway(): boolean {
    const owners = this.#owners;
    const isUseless = this.#isCutOffForLong && this.#me !== undefined && isCutOff(this.#me, owners, false);
    if (!this.isDraining && !isUseless) return false;
    return this.#nodes.some(
      (node) => node !== this.#me && node.roles.includes("gateway") && !node.draining && !isCutOff(node, owners, false),
    );
  }

  /** As of the last renewal. */
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
    return this.#nodes.find(({ incarnation }) => incarnation === this.#parts.bus.node);
  }

  get #isCutOffForLong(): boolean {
    if (this.#cutOffSinceMs === null) return false;
    return this.#parts.runtime.monotonicMs() - this.#cutOffSinceMs >= CUT_OFF_AFTER_MS;
  }

  async #renew(profile: Parameters<Leases["renew"]>[0], ttlMs: number): Promise<NodeLease[]> {
    const { leases, runtime, told } = this.#parts;
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
    told(this.#nodes);
    return [...this.#nodes];
  }

  #reached(): string[] {
    const { bus, runtime } = this.#parts;
    const connected = new Set(bus.connected());
    const others = this.#nodes.filter(({ incarnation }) => incarnation !== bus.node);
    const sightings = others.map(({ incarnation, renewedAgoMs }) => ({
      incarnation,
      isConnected: connected.has(incarnation),
      isFresh: renewedAgoMs <= SUSPECT_AFTER_MS,
    }));
    return [bus.node, ...this.#links.look(runtime.monotonicMs(), sightings)];
  }

  #lookAtReach(): void {
    const { bus, log, runtime } = this.#parts;
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
