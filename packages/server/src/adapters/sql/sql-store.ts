import { FEATURE_LEVEL } from "../../domain/cluster/feature-level.ts";
import type { JobDefinition } from "../../domain/job.ts";
import { AuditChain } from "../../ports/audit-chain.ts";
import type { Leases } from "../../ports/leases.ts";
import type { Store } from "../../ports/store.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import { hasChanged, type StoreJobs } from "../../ports/store-jobs.ts";
import type { StoreQueries } from "../../ports/store-queries.ts";
import { audit } from "./audit/audit.ts";
import { AuditTrail } from "./audit/audit-trail.ts";
import type { Claim, ClaimOptions } from "./cluster/claim.ts";
import { addCommand, readCommands } from "./cluster/commands.ts";
import { checkCompatibility, levelOfNodes } from "./cluster/compatibility.ts";
import { handlers } from "./cluster/handlers.ts";
import { keys } from "./cluster/keys.ts";
import { sqlLeases } from "./cluster/leases.ts";
import { putPool, readPools } from "./cluster/pools.ts";
import { quotas } from "./cluster/quotas.ts";
import { tenants } from "./cluster/tenants.ts";
import { backlog } from "./commit/backlog.ts";
import { Committer } from "./commit/commit.ts";
import { poll } from "./commit/poll.ts";
import { RaisedLevels } from "./commit/raised-levels.ts";
import { recover } from "./commit/recover.ts";
import { steps } from "./commit/step-records.ts";
import { readShards, releaseShards, takeOver } from "./commit/take-over.ts";
import { type ConnectionLoad, Connections, type ConnectionsOptions, type Session } from "./connection/connections.ts";
import { persistently } from "./connection/persistently.ts";
import { explained, preflight } from "./connection/preflight.ts";
import { eventSinks } from "./events/event-sinks.ts";
import { events } from "./events/events.ts";
import { EventInbox } from "./events/inbox.ts";
import { logs } from "./executions/attempt-logs.ts";
import { deadLetters } from "./executions/dead-letters.ts";
import { countListed, listExecutions } from "./executions/execution-lists.ts";
import { countExecutions, getExecution } from "./executions/execution-queries.ts";
import { executionRuns } from "./executions/execution-runs.ts";
import * as reads from "./executions/reads.ts";
import { ingest } from "./ingest/ingest.ts";
import { deleteJob, replaceJob } from "./jobs/job-changes.ts";
import { listJobs } from "./jobs/job-lists.ts";
import { getJob } from "./jobs/job-queries.ts";
import { run } from "./jobs/job-run.ts";
import { putNamed } from "./jobs/named-jobs.ts";
import { ledger } from "./recurring/ledger.ts";
import { overdue } from "./recurring/overdue.ts";
import { order } from "./recurring/plan-commands.ts";
import { recurrences } from "./recurring/recurrences.ts";
import { timeZones } from "./recurring/time-zones.ts";
import { recurringJobs, traces } from "./recurring/traces.ts";
import { requests } from "./requests/requests.ts";
import { checkSearchPath, claimHome } from "./schema/claim-home.ts";
import type { Home } from "./schema/home.ts";
import { maintain, makePartitions } from "./schema/maintain.ts";
import { leaveView } from "./schema/marks.ts";
import { isSinceTls, migrate } from "./schema/migrate.ts";
import { answered } from "./submit/idempotency-keys.ts";
import { submit } from "./submit/submit.ts";
import { isVanishedKey } from "./submit/submit-keyed.ts";
import { webhooks } from "./webhooks/webhooks.ts";
import { getRun, listNodes, listRuns } from "./workflows/run-queries.ts";
import { runs } from "./workflows/run-reads.ts";

export interface SqlStore extends Store {
  /** Leases of the nodes, kept in the same database. */
  readonly leases: Leases;
  /** Load of the connections, by purpose. */
  connectionLoad(): ConnectionLoad[];
  /**
   * Checks whether PostgreSQL writes, if it has refused a write before.
   * @throws {StoreUnavailable} PostgreSQL refuses writes
   */
  checkWrites(): Promise<void>;
  /** Whether a program that knows TLS made the store, and did not find one of an earlier release. */
  isSinceTls(): Promise<boolean>;
}

export interface SqlStoreOptions extends Omit<ConnectionsOptions, "schema">, Pick<ClaimOptions, "isShared"> {
  /** Schema of PostgreSQL for the store, as MAINSPRING_STORE_SCHEMA names it; null, the default: not set. */
  schema?: string | null;
  /** Feature level of the program; default: that of this program. */
  level?: number;
  /** Whether the node writes lifecycle events now; default: never. */
  events?: () => boolean;
}

/**
 * Opens the store on PostgreSQL 14 to 18: upgrades the schema and claims the database for this server, or for its
 * cluster.
 * @throws {StoreUnusable} PostgreSQL is too old, in use by another server or by nodes of incompatible versions, has a newer schema, or refuses the login; the message says what to do
 * @throws {StoreUnavailable} PostgreSQL does not answer (yet)
 */
export async function openSqlStore(options: SqlStoreOptions): Promise<SqlStore> {
  const outside = new Connections({ ...options, schema: null });
  try {
    await preflight(outside, options.log);
    const { home, claim } = await claimHome(outside, options);
    const db = new Connections({ ...options, schema: home.schema });
    try {
      await checkSearchPath(db, home.schema);
      await prepare(db, home, options);
      if (home.isNew) await leaveView(outside, home.schema);
    } catch (error) {
      await claim.release();
      await db.close();
      throw error;
    }
    return store(db, claim, home.schema, options);
  } finally {
    await outside.close();
  }
}

async function prepare(db: Connections, home: Home, options: SqlStoreOptions): Promise<void> {
  const { runtime, isShared = false, level = FEATURE_LEVEL } = options;
  if (isShared) await checkCompatibility(db, level);
  await explained(() => migrate(db, home.schema, level));
  await makePartitions(db, runtime.now());
  db.makeMonthsBy(() => makePartitions(db, runtime.now(), "query"));
}

function store(db: Connections, claim: Claim, schema: string, options: SqlStoreOptions): SqlStore {
  const { runtime, isShared = false, level = FEATURE_LEVEL, events: isTelling = () => false } = options;
  const levels = new RaisedLevels(db);
  const inbox = new EventInbox(isTelling, levels);
  const trail = new AuditTrail(db, new AuditChain(runtime.uuid(), () => runtime.now()));
  const committer = new Committer(db, levels, () => runtime.now());
  return {
    queries: queries(db),
    leases: sqlLeases(db),
    connectionLoad: () => db.load(),
    checkWrites: () => db.checkWrites(),
    isSinceTls: () => db.transaction("query", isSinceTls),
    jobs: jobs(trail, { inbox, levels }, () => runtime.now()),
    recurrences: recurrences(db),
    runs: runs(db, trail, () => runtime.now(), inbox),
    deadLetters: deadLetters(db, trail, inbox),
    executionRuns: executionRuns(db, trail),
    timeZones: timeZones(db, trail),
    handlers: handlers(db),
    steps: steps(db, levels),
    logs: logs(db),
    events: events(db, inbox),
    eventSinks: eventSinks(db, () => runtime.now()),
    webhooks: webhooks(db, trail),
    keys: keys(db, levels, trail),
    tenants: tenants(db, trail),
    quotas: quotas(db),
    requests: requests(db, { trail, levels, inbox, claim, schema, now: () => runtime.now() }),
    ingest: ingest(db, trail, { levels, inbox, now: () => runtime.now() }),
    audit: audit(db, trail),
    submit: (batch) => submit(db, trail, levels, inbox, batch, runtime.now()),
    commit: (batch) => committer.commit(batch),
    takeOver: async (shards, owner) => {
      // Without the claim, another server may rightfully own the shards, and would take them back.
      await claim.take();
      const { epochs, connection } = await takeOver(db, shards, owner);
      committer.tookOver(
        shards.map(({ shard }) => shard),
        connection,
      );
      return epochs;
    },
    watchTakeovers: (tell) =>
      db.watchEnds((connection) => {
        if (committer.tookOverOn(connection)) tell();
      }),
    readShards: () => readShards(db),
    releaseShards: (shards) => releaseShards(db, shards),
    recover: (shards) => recover(db, shards),
    poll: (shards, ahead) => poll(db, shards, ahead, isTelling()),
    readWaiting: (shards, dueUntil, limit) => reads.readWaiting(db, shards, dueUntil, limit),
    waitingFlows: (...asked) => reads.waitingFlows(db, ...asked),
    readFlows: (...asked) => reads.readFlows(db, ...asked),
    readReady: (shards, laneHash, after, limit) => reads.readReady(db, shards, laneHash, after, limit),
    readLanes: (after, limit) => reads.readLanes(db, after, limit),
    load: (ids) => reads.load(db, ids),
    payloads: (ids) => reads.payloads(db, ids),
    addCommand: (command, note) => addCommand(db, trail, command, note),
    readCommands: (...asked) => readCommands(db, ...asked),
    readPools: () => readPools(db),
    putPool: (change, note) => putPool(trail, change, note),
    clock: () => reads.clock(db),
    maintain: (now, retention) => maintain(db, now, retention, (session) => levelOfNodes(session, level, isShared)),
    close: async () => {
      await db.close();
      await claim.release();
    },
  };
}

function queries(db: Connections): StoreQueries {
  return {
    getExecution: (tenant, id) => getExecution(db, tenant, id),
    listExecutions: (tenant, filter, page) => listExecutions(db, tenant, filter, page),
    countListed: (tenant, filter) => countListed(db, tenant, filter),
    listRuns: (tenant, filter, page) => listRuns(db, tenant, filter, page),
    getRun: (tenant, id) => getRun(db, tenant, id),
    listNodes: (...asked) => listNodes(db, ...asked),
    getJob: (tenant, id) => getJob(db, tenant, id),
    listJobs: (tenant, filter, page) => listJobs(db, tenant, filter, page),
    ledger: (...asked) => ledger(db, ...asked),
    answered: (idempotency) => answered(db, idempotency),
    overdue: (...asked) => overdue(db, ...asked),
    recurringJobs: (after, limit) => recurringJobs(db, after, limit),
    traces: (asked, limit) => traces(db, asked, limit),
    countExecutions: (...asked) => countExecutions(db, ...asked),
    backlog: (limit) => backlog(db, limit),
  };
}

interface Kept {
  inbox: EventInbox;
  levels: RaisedLevels;
}

function jobs(trail: AuditTrail, { inbox, levels }: Kept, now: () => number): StoreJobs {
  const raise = async ({ policy }: JobDefinition) => {
    if (policy.onFinish !== undefined) await levels.raise("WEBHOOKS");
  };
  const changing = <T extends { kind: string }>(
    note: AuditNote | undefined,
    change: (session: Session) => Promise<T>,
  ) => persistently(() => trail.transaction("submit", note, change, hasChanged), isVanishedKey);
  return {
    replace: async (asked, note) => {
      await raise(asked.definition);
      return await changing(note, (session) => replaceJob(session, asked, now, inbox));
    },
    putNamed: async (asked, note) => {
      await raise(asked.job.definition);
      return await changing(note, (session) => putNamed(session, asked, now, inbox));
    },
    delete: (asked, note) => changing(note, (session) => deleteJob(session, asked, inbox)),
    run: (asked, note) => changing(note, (session) => run(session, asked, inbox)),
    order: (tenant, command, note) => changing(note, (session) => order(session, tenant, command)),
  };
}
