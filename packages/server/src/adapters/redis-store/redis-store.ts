import { FEATURE_LEVEL, levelOf } from "../../domain/cluster/feature-level.ts";
import type { EpochMs, Incarnation } from "../../domain/ids.ts";
import { AuditChain } from "../../ports/audit-chain.ts";
import type { Leases } from "../../ports/leases.ts";
import type { RedisAddress } from "../../ports/redis-address.ts";
import type { RedisFigures } from "../../ports/redis-figures.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Retention, Store } from "../../ports/store.ts";
import { QueryUnserved } from "../../ports/store-errors.ts";
import type { StoreTransfer } from "../../ports/store-transfer.ts";
import { auditLog } from "./access/audit-log.ts";
import { keys } from "./access/keys.ts";
import { quotas } from "./access/quotas.ts";
import { tenants } from "./access/tenants.ts";
import { logs } from "./attempt-logs.ts";
import { AuditTrail } from "./audit-trail.ts";
import { Claim, type ClaimOptions } from "./claim.ts";
import { Committer } from "./commit.ts";
import type { Connections } from "./connections.ts";
import { eventSinks } from "./events/event-sinks.ts";
import { events } from "./events/events.ts";
import { webhooks } from "./events/webhooks.ts";
import { Generation } from "./failover/generation.ts";
import { handlers } from "./handlers.ts";
import { ingest } from "./intake/ingest.ts";
import { steps } from "./intake/steps.ts";
import { Kinds } from "./kinds.ts";
import { redisLeases } from "./leases.ts";
import { deadLetters } from "./letters/dead-letters.ts";
import { ExecutionRuns } from "./letters/execution-runs.ts";
import { LIBRARY, loadLibrary } from "./library.ts";
import { OwnerReads } from "./owner-reads.ts";
import { Queries } from "./queries.ts";
import { jobChanges } from "./recurring/jobs.ts";
import { recurrences } from "./recurring/recurrences.ts";
import { type RedisAnswer, type RedisCommand, RedisConnection } from "./redis-connection.ts";
import { runReads } from "./runs/run-reads.ts";
import { retryRun } from "./runs/run-retries.ts";
import { refuseRightless, refuseUnfit } from "./server-checks.ts";
import { readFigures } from "./server-figures.ts";
import { addCommand, putPool, readPools, timeZones } from "./settings.ts";
import { readCommands, readShards, recover, releaseShards, takeOver } from "./shards.ts";
import { submit } from "./submit.ts";
import { BEYOND_LEVEL, RedisTransfer, refuseLiving } from "./transfer/redis-transfer.ts";
import { Upkeep } from "./upkeep.ts";

const PURPOSES = ["commit", "submit", "read", "query", "lease", "maintain"] as const;
/** Level of the first program with such a store. Features of later levels raise the level of the store in their own calls. */
const FIRST_LEVEL = `${levelOf("REDIS_STORE")}`;
/** Format of records and indexes, which the store keeps. */
const FORMAT = "1";

export interface RedisStoreOptions {
  address: RedisAddress;
  runtime: Runtime;
  /** Node that uses the store. */
  node: Incarnation;
  /** Number of replicas that must have a write before it is answered; default: 0. */
  replicas?: number;
  /** Claim of a server to the store; default: none, as for a program that only writes a key. */
  claim?: Pick<ClaimOptions, "isShared" | "log">;
  /** Whether Redis may write its file later than it answers, so that a crash loses accepted jobs; default: no. */
  isRelaxed?: boolean;
  /** Text of the library of functions; default: that of this program. */
  library?: string;
  /** Feature level of the program; default: that of this one. */
  level?: number;
  /** Whether the node writes lifecycle events now; default: no. */
  events?: () => boolean;
}

/** The Store port on Redis; docs/internals/redis-store.md has its operations, keys and functions. */
export interface RedisStore extends Store {
  readonly leases: Leases;
  /** Load of the connections, by purpose. */
  connectionLoad(): { purpose: keyof Connections; busy: number; max: number; waiting: number }[];
  /** @throws {StoreUnavailable} Redis takes no submissions */
  checkWrites(): Promise<void>;
  /** Whether no program made the store that did not know TLS. */
  isSinceTls(): Promise<boolean>;
  /**
   * Removes the oldest final executions beyond `retention.most`, unless another node does.
   * @throws {StoreUnavailable}
   */
  trim(now: EpochMs, retention: Retention): Promise<void>;
  /** Reads the state of the server over a connection of its own, which takes a replica, too. @throws {StoreUnavailable} */
  figures(): Promise<RedisFigures>;
}

/**
 * Opens the store on Redis 7.0 or newer.
 * @throws {StoreUnusable} the server cannot keep what the store promises; the message names the setting and its value
 * @throws {StoreUnavailable} the server does not answer, or takes no writes (yet)
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const generation = new Generation();
  const db = connectionsOf(options, generation);
  try {
    await db.commit.check();
    const claim = options.claim && new Claim(db.lease, { ...options, ...options.claim });
    await claim?.take();
    return storeOn(db, options, { claim: claim ?? null, generation });
  } catch (error) {
    close(db);
    throw error;
  }
}

export interface RedisTransferOptions extends Omit<RedisStoreOptions, "claim" | "level" | "events"> {
  log: ClaimOptions["log"];
}

/**
 * Claims a store on Redis for a transfer.
 * @throws {StoreUnusable} a server uses it, or Redis cannot keep what the store promises
 * @throws {StoreUnavailable} Redis does not answer
 */
export async function openRedisTransfer(options: RedisTransferOptions): Promise<StoreTransfer> {
  const { node, runtime, log, address } = options;
  const db = connectionsOf({ ...options, level: BEYOND_LEVEL }, new Generation(), "T");
  try {
    await db.submit.check();
    const claim = new Claim(db.lease, { node, runtime, log, isShared: false });
    await claim.take();
    const release = async () => {
      await claim.release();
      close(db);
    };
    await refuseLiving(db.query).catch(async (error: unknown) => {
      await claim.release();
      throw error;
    });
    return new RedisTransfer(nameOf(address), db.submit, release);
  } catch (error) {
    close(db);
    throw error;
  }
}

/** Address for people, without a password. */
function nameOf({ host, port, database, prefix }: RedisAddress): string {
  return `Redis at ${host}:${port}/${database}, prefix ${prefix}`;
}

function connectionsOf(options: RedisStoreOptions, generation: Generation, purpose = ""): Connections {
  const { address, runtime, replicas = 0, isRelaxed = false, library = LIBRARY, level = FEATURE_LEVEL } = options;
  const opened = async (send: (command: RedisCommand) => Promise<RedisAnswer>) => {
    await refuseUnfit(send, isRelaxed);
    await loadLibrary(send, library);
    await refuseRightless(send, address.prefix);
    const args = [`${address.prefix}:`, FORMAT, `${level}`, FIRST_LEVEL, generation.known, purpose];
    return generation.opened(String(await send(["FCALL", "ms_open", "1", ...args])));
  };
  const connection = () => generation.add(new RedisConnection({ address, runtime, replicas, opened }));
  return {
    ...{ commit: connection(), submit: connection(), read: connection(), query: connection() },
    ...{ lease: connection(), maintain: connection() },
  };
}

function close(db: Connections): void {
  for (const purpose of PURPOSES) db[purpose].close();
}

function storeOn(
  db: Connections,
  options: RedisStoreOptions,
  { claim, generation }: { claim: Claim | null; generation: Generation },
): RedisStore {
  const { runtime, node, events: isTelling = () => false } = options;
  const now = () => runtime.now();
  const kinds = new Kinds(db.submit);
  const reads = new OwnerReads(db.read, new Kinds(db.read));
  const queryKinds = new Kinds(db.query);
  const queries = new Queries(db.query, queryKinds);
  const trail = new AuditTrail(db.submit, new AuditChain(node, now));
  const committer = new Committer(db.commit, new Kinds(db.commit), now);
  const submitting = { db, kinds, trail, now, isTelling };
  const upkeep = new Upkeep(db.maintain, runtime, node);
  // This connection makes no demands of the server, so that it shows one that cannot be the store any more.
  const looks = new RedisConnection({ address: options.address, runtime, opened: async () => "" });
  return {
    ...partsOf(db, trail),
    runs: {
      ...runReads(db.read, new Kinds(db.read)),
      retry: (asked, note) => retryRun({ ...submitting, db: db.submit }, asked, note),
    },
    jobs: jobChanges(submitting),
    recurrences: recurrences(db.read, new Kinds(db.read)),
    queries: queries.port,
    handlers: handlers(db.query),
    ingest: ingest(db.query, submitting),
    logs: logs(db.query, queryKinds),
    deadLetters: deadLetters({
      ...{ db: db.query, kinds: queryKinds, trail, isTelling, now },
      flowsOf: (...asked) => queries.flowsWithLetters(...asked),
    }),
    events: events(db, isTelling),
    eventSinks: eventSinks(db.query, now),
    connectionLoad: () => PURPOSES.map((purpose) => ({ purpose, ...db[purpose].load() })),
    checkWrites: () => db.submit.refuseUnwritable(),
    isSinceTls: async () => true,
    figures: () => readFigures(looks),
    submit: (batch) => submit(submitting, batch),
    commit: (batch) => committer.commit(batch),
    ...takeovers(db.commit, committer),
    releaseShards: (shards) => releaseShards(db.commit, shards),
    recover: async (shards) => generation.tellLost(await recover(db.read, reads, shards)),
    poll: (...asked) => reads.poll(...asked),
    readWaiting: (...asked) => reads.readWaiting(...asked),
    waitingFlows: (...asked) => reads.waitingFlows(...asked),
    readFlows: (...asked) => reads.readFlows(...asked),
    readReady: (...asked) => reads.readReady(...asked),
    readLanes: (...asked) => reads.readLanes(...asked),
    load: (ids) => reads.load(ids),
    payloads: (ids) => reads.payloads(ids),
    addCommand: (command, note) => addCommand(trail, command, note),
    readCommands: (...asked) => readCommands(db.read, ...asked),
    readPools: () => readPools(db.read),
    putPool: (change, note) => putPool(db.submit, trail, change, note),
    clock: async () => {
      const [time] = await db.read.call([["TIME"]]);
      const [seconds, micros] = (time as Buffer[]).map(Number) as [number, number];
      return seconds * 1_000 + micros / 1_000;
    },
    maintain: (now, retention) => upkeep.maintain(now, retention),
    trim: (now, retention) => upkeep.trim(now, retention),
    close: async () => {
      await claim?.release();
      looks.close();
      close(db);
    },
  };
}

/** Takeovers of shards. The committer learns of each, because a takeover ends with its connection. */
function takeovers(
  db: RedisConnection,
  committer: Committer,
): Pick<RedisStore, "readShards" | "takeOver" | "watchTakeovers"> {
  return {
    readShards: () => readShards(db),
    takeOver: async (shards, owner) => {
      const epochs = await takeOver(db, shards, owner);
      committer.tookOver(
        shards.map(({ shard }) => shard),
        db.number,
      );
      return epochs;
    },
    watchTakeovers: (tell) =>
      db.watchEnd((number) => {
        if (committer.tookOverOn(number)) tell();
      }),
  };
}

const nothing = async () => [];

/** Requests are written in the transaction of an application, and no application shares one with Redis. */
function requestsUnserved(): Promise<never> {
  const advice = "submit over HTTP with an idempotency key, or through Kafka";
  return Promise.reject(new QueryUnserved("requests in SQL", advice));
}

/** Parts of the port that need no more than a connection. */
function partsOf(db: Connections, trail: AuditTrail) {
  return {
    leases: redisLeases(db.lease),
    executionRuns: new ExecutionRuns(db.query, trail),
    timeZones: timeZones(db.query, trail),
    steps: steps(db.read, db.submit),
    webhooks: webhooks(db.query, trail),
    requests: { takeIn: nothing, watch: () => undefined, get: requestsUnserved, list: requestsUnserved },
    keys: keys(db.submit, trail),
    audit: auditLog(db.query, trail),
    tenants: tenants(db.submit, trail),
    quotas: quotas(db.submit),
  };
}
