import type { KeyValue } from "@mainspring/proto/etcd";
import type { Incarnation } from "../../domain/ids.ts";
import type { Role } from "../../ports/bus.ts";
import type { KnownNode, NodeProfile } from "../../ports/leases.ts";

/** A node's lease as it is written into etcd. */
export interface NodeRecord extends Omit<NodeProfile, "wasDraining"> {
  /** Time in ms for which the node trusts a renewal. */
  ttlMs: number;
}

const text = new TextDecoder();
const ROLES: readonly Role[] = ["api", "scheduler", "gateway"];
/** Largest record that is read, in bytes. */
const RECORD_MAX_BYTES = 256 * 1_024;
/** Time after its end for which a lease is listed, in ms. */
const FORGET_AFTER_MS = 60_000;
/** Largest number of ended leases that are listed. */
const GONE_MAX = 1_000;

/** @returns null: the value is no record of a node */
function parseRecord(value: Uint8Array): NodeRecord | null {
  if (value.length > RECORD_MAX_BYTES) return null;
  try {
    const record: unknown = JSON.parse(text.decode(value));
    return isRecord(record) ? record : null;
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is NodeRecord {
  if (typeof value !== "object" || value === null) return false;
  const record = value as Partial<Record<keyof NodeRecord, unknown>>;
  const { incarnation, name, address, version, level, startedAt, ttlMs, roles, reaches } = record;
  const texts = [incarnation, name, address, version].every((one) => typeof one === "string");
  const numbers = [level, startedAt, ttlMs].every((one) => typeof one === "number" && Number.isFinite(one));
  const isListed = Array.isArray(roles) && roles.every((role) => ROLES.includes(role));
  const hasLinks = reaches === null || (Array.isArray(reaches) && reaches.every((one) => typeof one === "string"));
  const { hasSecret, wantsLeader = false } = record;
  const isSaid = typeof hasSecret === "boolean" && typeof wantsLeader === "boolean";
  return texts && numbers && isListed && hasLinks && isSaid;
}

/** Last sight of a node. */
interface Sight {
  record: NodeRecord;
  draining: boolean;
  /** Revision of the last renewal that was seen. */
  revision: bigint;
  /** Time at which this renewal was first seen, on the monotonic clock. */
  sinceMs: number;
}

/**
 * Leases as one node sees them. A renewal counts from the time at which this node first saw its revision, by this node's monotonic
 * clock: etcd has no times of writes, and clocks of machines differ. A renewal cannot look older than it is, so a
 * living node is never taken for dead early.
 */
export class NodeSights {
  readonly #sights = new Map<Incarnation, Sight>();

  /**
   * Takes note of all keys of nodes.
   * @param nowMs time after the answer, on the monotonic clock
   * @returns number of values that are no records of nodes
   */
  see(nodes: readonly KeyValue[], drains: ReadonlyMap<Incarnation, boolean>, nowMs: number): number {
    const present = new Set<Incarnation>();
    let strange = 0;
    for (const { value, modRevision } of nodes) {
      const record = parseRecord(value);
      if (record === null) {
        strange++;
        continue;
      }
      const { incarnation } = record;
      present.add(incarnation);
      const known = this.#sights.get(incarnation);
      const sinceMs = known?.revision === modRevision ? known.sinceMs : nowMs;
      const draining = drains.get(incarnation) ?? false;
      this.#sights.set(incarnation, { record, draining, revision: modRevision, sinceMs });
    }
    for (const [incarnation, sight] of this.#sights) {
      if (!present.has(incarnation) && isForgotten(sight, nowMs)) this.#sights.delete(incarnation);
    }
    this.#bound(present);
    return strange;
  }

  /** Every node that was seen and not forgotten. @param nowMs time on the monotonic clock */
  list(nowMs: number): KnownNode[] {
    return [...this.#sights.values()].map(({ record, draining, sinceMs }) => {
      const { ttlMs, reaches = null, ...profile } = record;
      const renewedAgoMs = Math.floor(nowMs - sinceMs);
      return { ...profile, reaches, draining, renewedAgoMs, isLiving: renewedAgoMs <= ttlMs };
    });
  }

  /** Whether the node's lease has ended, or is not known. */
  hasEnded(node: Incarnation, nowMs: number): boolean {
    const sight = this.#sights.get(node);
    return sight === undefined || nowMs - sight.sinceMs > sight.record.ttlMs;
  }

  forget(node: Incarnation): void {
    this.#sights.delete(node);
  }

  #bound(present: ReadonlySet<Incarnation>): void {
    const gone = [...this.#sights.keys()].filter((node) => !present.has(node));
    for (const node of gone.slice(0, Math.max(0, gone.length - GONE_MAX))) this.#sights.delete(node);
  }
}

/** Whether a node whose key is gone is not listed any more: it gave up its lease in time, or went long ago. */
function isForgotten({ record, sinceMs }: Sight, nowMs: number): boolean {
  const agoMs = nowMs - sinceMs;
  return agoMs <= record.ttlMs || agoMs > record.ttlMs + FORGET_AFTER_MS;
}
