import { type EpochMs, type Incarnation, SHARD_COUNT, type ShardId } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import { ownerOfPool, type Pool } from "../../domain/pool.ts";
import { sha256 } from "../../ports/audit-chain.ts";
import { HandlerTable } from "../../ports/handler-table.ts";
import type { RowChange, ShardHolder } from "../../ports/store.ts";
import type { NewTenant } from "../../ports/store-tenants.ts";
import type { InboxEvents } from "../../ports/told-events.ts";
import type { StoreEvent } from "./history.ts";
import { IngestTable } from "./ingest-table.ts";
import { OnTheWay } from "./on-the-way.ts";
import { AuditTable } from "./rows/audit-table.ts";
import { CommandInbox } from "./rows/command-inbox.ts";
import type { StoredRun } from "./rows/dead-letters.ts";
import { EventTable } from "./rows/event-table.ts";
import type { StoredExecutionRun } from "./rows/execution-runs.ts";
import { ExecutionTable } from "./rows/execution-table.ts";

import { JobTable } from "./rows/job-table.ts";
import { KeyTable } from "./rows/key-table.ts";
import { IdempotencyKeys, JobNames, UniqueKeys } from "./rows/keys.ts";
import { LogTable } from "./rows/log-table.ts";
import { PlanTable } from "./rows/plan-table.ts";
import { QuotaTable } from "./rows/quota-table.ts";
import { recover } from "./rows/reads.ts";
import { RequestTable } from "./rows/request-table.ts";
import { RunTable } from "./rows/run-table.ts";
import { SignalTable } from "./rows/signal-table.ts";
import { StepTable } from "./rows/step-table.ts";
import { TenantTable } from "./rows/tenant-table.ts";
import type { StoredZones } from "./rows/time-zones.ts";
import { WebhookTable } from "./rows/webhook-table.ts";
import { ShardState } from "./shard-state.ts";

/** Time since which one server has the store without loss of a write. */
export interface Generation {
  /** Number of the losses before. */
  number: number;
  server: number;
  since: EpochMs;
}

/** All tables of the store. */
export interface Tables {
  jobs: JobTable;
  executions: ExecutionTable;
  plans: PlanTable;
  runs: RunTable;
  steps: StepTable;
  signals: SignalTable;
  uniqueKeys: UniqueKeys;
  jobNames: JobNames;
  idempotencyKeys: IdempotencyKeys;
  commands: CommandInbox;
  zones: StoredZones;
  handlers: HandlerTable;
  logs: LogTable;
  events: EventTable;
  webhooks: WebhookTable;
  keys: KeyTable;
  audit: AuditTable;
  tenants: TenantTable;
  quotas: QuotaTable;
  requests: RequestTable;
  ingest: IngestTable;
  pools: Map<string, Pool>;
  deadLetterRuns: Map<string, StoredRun>;
  executionRuns: Map<string, StoredExecutionRun>;
  shards: readonly ShardState[];
  generation: Generation;
}

export interface StoreDataOptions {
  /** Clock of the store. */
  now: () => EpochMs;
  /** Refuses data that the columns could hold: returns the reason, or null. The answer must be the same each time. */
  refuses?: (change: RowChange) => string | null;
  /** Whether submits and changes of jobs leave lifecycle events; default: never. */
  isTelling?: () => boolean;
}

/**
 * Content of a simulated store: tables, and the observers of their changes. Nothing here is asynchronous, so each call
 * is atomic. The operations are the functions beside it (submit.ts, commit.ts, …).
 */
export class StoreData {
  readonly now: () => EpochMs;
  readonly refuses: (change: RowChange) => string | null;
  readonly isTelling: () => boolean;
  #tables: Tables = {
    jobs: new JobTable(),
    executions: new ExecutionTable(),
    plans: new PlanTable(),
    runs: new RunTable(),
    steps: new StepTable(),
    signals: new SignalTable(),
    uniqueKeys: new UniqueKeys(),
    jobNames: new JobNames(),
    idempotencyKeys: new IdempotencyKeys(),
    commands: new CommandInbox(),
    zones: { changeovers: [], versions: new Map() },
    handlers: new HandlerTable(),
    logs: new LogTable(),
    events: new EventTable(),
    webhooks: new WebhookTable(),
    keys: new KeyTable(),
    audit: new AuditTable(),
    tenants: new TenantTable(),
    quotas: new QuotaTable(),
    requests: new RequestTable(),
    ingest: new IngestTable(),
    pools: new Map(),
    deadLetterRuns: new Map(),
    executionRuns: new Map(),
    shards: Array.from({ length: SHARD_COUNT }, () => new ShardState()),
    generation: { number: 0, server: 0, since: 0 },
  };
  /** Number of the server that has the store now. Another one may lack the last writes. */
  #server = 0;
  /** Number of times that the store was restored to an earlier state. */
  timeline = 0;
  /** Calls that were sent and have not taken effect. */
  readonly onTheWay = new OnTheWay();
  readonly #listeners: ((event: StoreEvent) => void)[] = [];
  #commits = 0;
  #chains = 0;

  constructor({ now, refuses = () => null, isTelling = () => false }: StoreDataOptions) {
    this.now = now;
    this.isTelling = isTelling;
    this.refuses = refuses;
  }

  get jobs(): JobTable {
    return this.#tables.jobs;
  }

  get executions(): ExecutionTable {
    return this.#tables.executions;
  }

  get plans(): PlanTable {
    return this.#tables.plans;
  }

  /** Runs of workflows, and the graphs of these. */
  get runs(): RunTable {
    return this.#tables.runs;
  }

  /** Records of handlers. */
  get steps(): StepTable {
    return this.#tables.steps;
  }

  get signals(): SignalTable {
    return this.#tables.signals;
  }

  get uniqueKeys(): UniqueKeys {
    return this.#tables.uniqueKeys;
  }

  get jobNames(): JobNames {
    return this.#tables.jobNames;
  }

  get idempotencyKeys(): IdempotencyKeys {
    return this.#tables.idempotencyKeys;
  }

  get commands(): CommandInbox {
    return this.#tables.commands;
  }

  get zones(): StoredZones {
    return this.#tables.zones;
  }

  /** Policies of handlers. */
  get handlers(): HandlerTable {
    return this.#tables.handlers;
  }

  /** Log lines of attempts. */
  get logs(): LogTable {
    return this.#tables.logs;
  }

  /** Lifecycle events. */
  get events(): EventTable {
    return this.#tables.events;
  }

  /** Webhooks and their deliveries. */
  get webhooks(): WebhookTable {
    return this.#tables.webhooks;
  }

  /** API keys. */
  get keys(): KeyTable {
    return this.#tables.keys;
  }

  get audit(): AuditTable {
    return this.#tables.audit;
  }

  get tenants(): TenantTable {
    return this.#tables.tenants;
  }

  get quotas(): QuotaTable {
    return this.#tables.quotas;
  }

  /** See StoreTenants.drop. */
  dropTenant(name: string): void {
    if (this.tenants.drop(name)) this.#dropPools(name);
  }

  #dropPools(owner: string): void {
    for (const pool of [...this.pools.keys()]) if (ownerOfPool(pool) === owner) this.pools.delete(pool);
  }

  /** See StoreTenants.create. */
  createTenant(tenant: NewTenant): ReturnType<TenantTable["create"]> {
    const hasRows = [...this.executions.all()].some(({ job }) => job.tenant === tenant.name);
    const answer = this.tenants.create(tenant, hasRows);
    if (answer === "CREATED") this.#dropPools(tenant.name);
    return answer;
  }

  /** Requests for jobs of applications. */
  get requests(): RequestTable {
    return this.#tables.requests;
  }

  /** Positions in the log of requests. */
  get ingest(): IngestTable {
    return this.#tables.ingest;
  }

  /** Pools with settings, by name. */
  get pools(): Map<string, Pool> {
    return this.#tables.pools;
  }

  get deadLetterRuns(): Map<string, StoredRun> {
    return this.#tables.deadLetterRuns;
  }

  get executionRuns(): Map<string, StoredExecutionRun> {
    return this.#tables.executionRuns;
  }

  /** Leaves events in the inbox, if the store has any. */
  leave(members: () => readonly InboxEvents[]): void {
    if (this.isTelling()) this.events.leave(members());
  }

  /** See StoreEvents.leave. */
  leaveAlone(by: Incarnation, members: readonly InboxEvents[]): void {
    this.leave(() => members);
    this.tell({ kind: "EVENTS_LEFT", at: this.now(), by, events: members.flatMap(({ events }) => events) });
  }

  /** Copy of the whole store, for a backup or a standby; later changes do not affect it. */
  copy(): Tables {
    const { zones, pools, deadLetterRuns, executionRuns, shards, generation } = this.#tables;
    return {
      jobs: this.jobs.copy(),
      executions: this.executions.copy(),
      plans: this.plans.copy(),
      runs: this.runs.copy(),
      steps: this.steps.copy(),
      signals: this.signals.copy(),
      uniqueKeys: this.uniqueKeys.copy(),
      jobNames: this.jobNames.copy(),
      idempotencyKeys: this.idempotencyKeys.copy(),
      commands: this.commands.copy(),
      zones: { changeovers: [...zones.changeovers], versions: new Map(zones.versions) },
      handlers: this.handlers.copy(),
      logs: this.logs.copy(),
      events: this.events.copy(),
      webhooks: this.webhooks.copy(),
      keys: this.keys.copy(),
      audit: this.audit.copy(),
      tenants: this.tenants.copy(),
      quotas: this.quotas.copy(),
      requests: this.requests.copy(),
      ingest: this.ingest.copy(),
      pools: new Map(pools),
      deadLetterRuns: new Map(deadLetterRuns),
      executionRuns: new Map(executionRuns),
      shards: shards.map((shard) => shard.copy()),
      generation,
    };
  }

  /** Restores the store from a copy. The caller must break off the connections to the store that was. */
  goBack(copy: Tables): void {
    this.onTheWay.shutOutAll();
    this.timeline += 1;
    this.#become(copy, false);
  }

  /**
   * Makes another server the one that has the store, which lacks the writes since the copy. Connections and the calls on their way
   * survive: nothing but the generation tells that writes are lost.
   */
  rewind(copy: Tables): void {
    this.#server += 1;
    this.#become(copy, true);
  }

  /** Whether another server has the store than the one under which its generation began. */
  get isRewound(): boolean {
    return this.generation.server !== this.#server;
  }

  get generation(): Generation {
    return this.#tables.generation;
  }

  /** Begins a generation, if another server has the store: no shard has an owner, and every epoch of before is refused. */
  raiseGeneration(): void {
    if (!this.isRewound) return;
    const since = this.now();
    for (const shard of this.#tables.shards) shard.raise(since);
    this.#tables.generation = { number: this.generation.number + 1, server: this.#server, since };
  }

  #become(copy: Tables, hasGenerations: boolean): void {
    this.#tables = copy;
    const { inFlight, journals } = recover(this, [...copy.shards.keys()]);
    const at = this.now();
    const [rows, runs] = [[...this.executions.all()], [...this.runs.all()]];
    const parts = runs.flatMap(({ run }) => this.runs.partsOf(run));
    const state = { rows, runs, parts, inFlight, journals };
    this.tell({ kind: "WENT_BACK", at, hasGenerations, holders: this.holders(), ...state });
  }

  /** Calls the listener with every later event, before any other code can react to the change. */
  observe(listener: (event: StoreEvent) => void): void {
    this.#listeners.push(listener);
  }

  tell(event: StoreEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  holders(): ShardHolder[] {
    return this.#tables.shards.map(({ epoch, owner }, shard) => ({ shard, epoch, owner }));
  }

  shard(id: ShardId): ShardState {
    const shard = this.#tables.shards[id];
    invariant(shard !== undefined, `the store has no shard ${id}`);
    return shard;
  }

  /** UUID of the next chain of a node in the audit log, made of the node's id, so that a simulation depends on its seed alone. */
  newChain(node: Incarnation): string {
    const digits = sha256(`${node} ${++this.#chains}`).slice(0, 32);
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }

  nextCommitNumber(): number {
    this.#commits += 1;
    return this.#commits;
  }
}
