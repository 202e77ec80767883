import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import {
  CompactionRequestSchema,
  Compare_CompareResult,
  type KeyValue,
  LeaseGrantRequestSchema,
  LeaseKeepAliveRequestSchema,
  LeaseRevokeRequestSchema,
  RangeRequestSchema,
  type RequestOpSchema,
  StatusRequestSchema,
  TxnRequestSchema,
} from "@mainspring/proto/etcd";
import type { Logger } from "pino";
import type { Incarnation } from "../../domain/ids.ts";
import type { EtcdAddress } from "../../ports/etcd-address.ts";
import {
  type KnownNode,
  type Leases,
  LeasesUnavailable,
  LeasesUnusable,
  type NodeLease,
  type NodeProfile,
} from "../../ports/leases.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { EtcdClient, EtcdRefused, METHODS } from "./etcd-client.ts";
import { type NodeRecord, NodeSights } from "./node-records.ts";

/** Oldest etcd that the leases were tested with. */
const OLDEST = [3, 4] as const;
/**
 * Interval in ms at which the lease in etcd is kept alive. The lease lasts this much longer than a renewal is trusted, so that the
 * key of a node is there for as long as the node trusts its lease.
 */
const KEEP_ALIVE_EVERY_MS = 1_000;
/** Interval in ms at which old revisions are dropped. */
const COMPACT_EVERY_MS = 60_000;
const NODES_MAX = 10_000n;
const YES = Buffer.from("draining");
const NO = Buffer.from("working");

type Operation = MessageInitShape<typeof RequestOpSchema>;

export interface EtcdLeasesOptions {
  address: EtcdAddress;
  runtime: Runtime;
  log: Logger;
}

/** The lease in etcd that this node's keys end with. */
interface Held {
  id: bigint;
  /** Time before the last call that kept the lease alive, on the monotonic clock. */
  keptMs: number;
}

/** Leases of nodes in etcd. Each node has a key that ends with a lease of etcd, and writes it anew with every renewal. */
export class EtcdLeases implements Leases {
  readonly #client: EtcdClient;
  readonly #runtime: Runtime;
  readonly #log: Logger;
  readonly #keys: Keys;
  readonly #sights = new NodeSights();
  readonly #held = new Map<Incarnation, Held>();
  /** Revision below which nothing is needed any more, and time since which it is known, on the monotonic clock. */
  #mark: { revision: bigint; sinceMs: number } | null = null;
  #hasWarnedOfStrangers = false;
  #hasWarnedOfCompaction = false;

  /** @throws {LeasesUnusable} a file that the address names cannot be read */
  constructor({ address, runtime, log }: EtcdLeasesOptions) {
    this.#client = new EtcdClient(address, runtime);
    this.#runtime = runtime;
    this.#log = log;
    this.#keys = new Keys(address.prefix);
  }

  /**
   * Checks that the servers are an etcd that can keep leases.
   * @throws {LeasesUnusable} the program is too old or no etcd, or refuses the login; the message says what to do
   * @throws {LeasesUnavailable} etcd does not answer (yet)
   */
  check(): Promise<void> {
    return this.#answered(async (untilMs) => {
      try {
        const { version } = await this.#client.call(METHODS.status, create(StatusRequestSchema), untilMs);
        refuseOld(version);
        await this.#client.call(METHODS.txn, this.#rightsProbe(), untilMs);
      } catch (error) {
        if (!(error instanceof EtcdRefused)) throw error;
        const cause = { cause: error };
        if (error.code === status.UNIMPLEMENTED)
          throw new LeasesUnusable("MAINSPRING_ETCD leads to a server that is no etcd", cause);
        if (error.code !== status.PERMISSION_DENIED && error.code !== status.INVALID_ARGUMENT) throw error;
        throw new LeasesUnusable(
          `MAINSPRING_ETCD must have a user that may read and write the keys that begin with ${this.#keys.prefix}: ${error.message}`,
          cause,
        );
      }
    });
  }

  close(): void {
    this.#client.close();
  }

  renew(node: NodeProfile, ttlMs: number): Promise<NodeLease[]> {
    return this.#answered(async (untilMs) => {
      const { kvs, revision } = await this.#put(node, ttlMs, untilMs);
      const nowMs = this.#see(kvs);
      const nodes = this.#sights.list(nowMs).filter(({ isLiving }) => isLiving);
      this.#compact(node.incarnation, nodes, revision);
      return nodes.map(leaseOf);
    });
  }

  release(node: Incarnation): Promise<void> {
    return this.#answered(async (untilMs) => {
      const held = this.#held.get(node);
      if (held === undefined) return;
      this.#held.delete(node);
      this.#sights.forget(node);
      const request = create(LeaseRevokeRequestSchema, { id: held.id });
      await this.#client.call(METHODS.revoke, request, untilMs).catch(unlessLost);
    });
  }

  list(): Promise<KnownNode[]> {
    return this.#answered(async (untilMs) => this.#sights.list(this.#see(await this.#range(untilMs))));
  }

  drain(node: Incarnation, isDraining: boolean): Promise<boolean> {
    return this.#answered(async (untilMs) => {
      const kvs = await this.#range(untilMs);
      const nowMs = this.#see(kvs);
      const key = this.#keys.node(node);
      const lease = kvs.find((kv) => key.equals(kv.key))?.lease;
      if (lease === undefined || this.#sights.hasEnded(node, nowMs)) return false;
      const put = this.#putDrain(node, isDraining, lease);
      const request = create(TxnRequestSchema, { compare: [exists(key)], success: [put] });
      try {
        return (await this.#client.call(METHODS.txn, request, untilMs)).succeeded;
      } catch (error) {
        unlessLost(error);
        return false;
      }
    });
  }

  /** Writes the node's key and reads all keys, in one transaction. A lease that etcd has lost is granted anew. */
  async #put(node: NodeProfile, ttlMs: number, untilMs: number): Promise<{ kvs: KeyValue[]; revision: bigint }> {
    const lease = await this.#lease(node.incarnation, ttlMs, untilMs);
    try {
      return await this.#transact(node, ttlMs, lease, untilMs);
    } catch (error) {
      unlessLost(error);
      this.#held.delete(node.incarnation);
      return this.#transact(node, ttlMs, await this.#lease(node.incarnation, ttlMs, untilMs), untilMs);
    }
  }

  async #transact({ wasDraining = false, ...node }: NodeProfile, ttlMs: number, lease: bigint, untilMs: number) {
    const { reaches = null, hasSecret = false, ...said } = node;
    const record: NodeRecord = { ...said, hasSecret, reaches, ttlMs };
    const value = Buffer.from(JSON.stringify(record));
    const put: Operation = {
      request: { case: "requestPut", value: { key: this.#keys.node(node.incarnation), value, lease } },
    };
    const range: Operation = { request: { case: "requestRange", value: this.#keys.all } };
    const remind = this.#putDrain(node.incarnation, wasDraining, lease);
    const request = create(TxnRequestSchema, {
      compare: [exists(this.#keys.drain(node.incarnation))],
      success: [put, range],
      failure: [put, remind, range],
    });
    const { responses, header } = await this.#client.call(METHODS.txn, request, untilMs);
    const answer = responses.at(-1)?.response;
    if (answer?.case !== "responseRange") throw new LeasesUnavailable("etcd answered without the nodes' leases");
    return { kvs: answer.value.kvs, revision: header?.revision ?? 0n };
  }

  #putDrain(node: Incarnation, isDraining: boolean, lease: bigint): Operation {
    const value = { key: this.#keys.drain(node), value: isDraining ? YES : NO, lease };
    return { request: { case: "requestPut", value } };
  }

  /** Id of a lease in etcd that is there for long enough: granted, or kept alive. */
  async #lease(node: Incarnation, ttlMs: number, untilMs: number): Promise<bigint> {
    const nowMs = this.#runtime.monotonicMs();
    const held = this.#held.get(node);
    if (held !== undefined) {
      if (nowMs - held.keptMs < KEEP_ALIVE_EVERY_MS) return held.id;
      const request = create(LeaseKeepAliveRequestSchema, { id: held.id });
      const { ttl } = await this.#client.call(METHODS.keepAlive, request, untilMs);
      held.keptMs = nowMs;
      if (ttl > 0n) return held.id;
    }
    const ttl = BigInt(Math.ceil((ttlMs + KEEP_ALIVE_EVERY_MS) / 1_000));
    const { id } = await this.#client.call(METHODS.grant, create(LeaseGrantRequestSchema, { ttl }), untilMs);
    this.#held.set(node, { id, keptMs: nowMs });
    return id;
  }

  /** Transaction that writes nothing, because no version is below 0. etcd refuses it without the rights to read and write the keys. */
  #rightsProbe() {
    const key = Buffer.from(`${this.#keys.prefix}nodes/`);
    const impossible = {
      result: Compare_CompareResult.LESS,
      key,
      targetUnion: { case: "version" as const, value: 0n },
    };
    const put: Operation = { request: { case: "requestPut", value: { key } } };
    const range: Operation = { request: { case: "requestRange", value: this.#keys.all } };
    return create(TxnRequestSchema, { compare: [impossible], success: [put], failure: [range] });
  }

  async #range(untilMs: number): Promise<KeyValue[]> {
    return (await this.#client.call(METHODS.range, create(RangeRequestSchema, this.#keys.all), untilMs)).kvs;
  }

  /** @returns time after the answer, on the monotonic clock */
  #see(kvs: readonly KeyValue[]): number {
    const nowMs = this.#runtime.monotonicMs();
    const { nodes, drains, strangers } = this.#keys.sorted(kvs);
    const strange = strangers + this.#sights.see(nodes, drains, nowMs);
    if (strange > 0 && !this.#hasWarnedOfStrangers) {
      this.#hasWarnedOfStrangers = true;
      const about = { keys: strange, prefix: this.#keys.prefix };
      this.#log.warn(
        about,
        "etcd has keys below the prefix of MAINSPRING_ETCD that are no leases of nodes; they are left alone",
      );
    }
    return nowMs;
  }

  /** Drops revisions that are older than a minute. One node does it: the one with the lowest id. */
  #compact(me: Incarnation, nodes: readonly NodeLease[], revision: bigint): void {
    const nowMs = this.#runtime.monotonicMs();
    this.#mark ??= { revision, sinceMs: nowMs };
    if (nowMs - this.#mark.sinceMs < COMPACT_EVERY_MS) return;
    const request = create(CompactionRequestSchema, { revision: this.#mark.revision });
    this.#mark = { revision, sinceMs: nowMs };
    if (nodes.some(({ incarnation }) => incarnation < me)) return;
    this.#client.call(METHODS.compact, request).catch((error: unknown) => this.#notCompacted(error));
  }

  #notCompacted(error: unknown): void {
    // Another program has dropped these revisions.
    if (error instanceof EtcdRefused && error.code === status.OUT_OF_RANGE) return;
    if (this.#hasWarnedOfCompaction) return;
    this.#hasWarnedOfCompaction = true;
    this.#log.warn(
      { err: error },
      "etcd did not drop old revisions, so its data may grow: let it do so by itself with --auto-compaction-retention",
    );
  }

  async #answered<T>(ask: (untilMs: number) => Promise<T>): Promise<T> {
    try {
      return await ask(this.#client.deadline());
    } catch (cause) {
      if (cause instanceof LeasesUnavailable || cause instanceof LeasesUnusable) throw cause;
      if (!(cause instanceof EtcdRefused)) throw cause;
      throw new LeasesUnavailable(`etcd did not answer about the nodes' leases: ${cause.message}`, { cause });
    }
  }
}

/** Names of the keys of a cluster of Mainspring. */
class Keys {
  readonly prefix: string;
  /** Range of all keys. */
  readonly all: { key: Buffer; rangeEnd: Buffer; limit: bigint };
  readonly #nodes: string;
  readonly #drains: string;

  constructor(prefix: string) {
    this.prefix = `/${prefix}/leases/`;
    this.#nodes = `${this.prefix}nodes/`;
    this.#drains = `${this.prefix}draining/`;
    // The character after the slash.
    this.all = { key: Buffer.from(this.prefix), rangeEnd: Buffer.from(`/${prefix}/leases0`), limit: NODES_MAX };
  }

  node(node: Incarnation): Buffer {
    return Buffer.from(this.#nodes + node);
  }

  drain(node: Incarnation): Buffer {
    return Buffer.from(this.#drains + node);
  }

  sorted(kvs: readonly KeyValue[]): { nodes: KeyValue[]; drains: Map<Incarnation, boolean>; strangers: number } {
    const nodes: KeyValue[] = [];
    const drains = new Map<Incarnation, boolean>();
    let strangers = 0;
    for (const kv of kvs) {
      const key = Buffer.from(kv.key).toString();
      if (key.startsWith(this.#nodes)) nodes.push(kv);
      else if (key.startsWith(this.#drains)) drains.set(key.slice(this.#drains.length), YES.equals(kv.value));
      else strangers++;
    }
    return { nodes, drains, strangers };
  }
}

/** Condition: the key exists. */
function exists(key: Buffer) {
  const result = Compare_CompareResult.GREATER;
  return { result, key, targetUnion: { case: "version" as const, value: 0n } };
}

/** @throws the error, unless etcd knows no such lease */
function unlessLost(error: unknown): void {
  if (!(error instanceof EtcdRefused) || error.code !== status.NOT_FOUND) throw error;
}

/** @throws {LeasesUnusable} */
function refuseOld(version: string): void {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldMajor, oldMinor] = OLDEST;
  if (major > oldMajor || (major === oldMajor && minor >= oldMinor)) return;
  throw new LeasesUnusable(`MAINSPRING_ETCD leads to an etcd of version ${version}: it must be 3.4 or newer`);
}

function leaseOf(node: KnownNode): NodeLease {
  const { isLiving: _, ...lease } = node;
  return lease;
}
