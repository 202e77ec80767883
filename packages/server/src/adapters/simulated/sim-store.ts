import type { Epoch, ExecutionId, Incarnation, ShardId } from "../../domain/ids.ts";
import {
  type SeenShard,
  type ShardCommit,
  type ShardOutcome,
  type Store,
  StoreUnavailable,
  type Submission,
  type SubmitOutcome,
} from "../../ports/store.ts";
import type { AuditNote, StoreAudit } from "../../ports/store-audit.ts";
import type { Command } from "../../ports/store-commands.ts";
import type { StoreDeadLetters } from "../../ports/store-dead-letters.ts";
import type { StoreEventSinks } from "../../ports/store-event-sinks.ts";
import type { StoreEvents } from "../../ports/store-events.ts";
import type { StoreExecutionRuns } from "../../ports/store-execution-runs.ts";
import type { StoreHandlers } from "../../ports/store-handlers.ts";
import type { StoreIngest } from "../../ports/store-ingest.ts";
import { hasChanged, type StoreJobs } from "../../ports/store-jobs.ts";
import type { StoreKeys } from "../../ports/store-keys.ts";
import type { StoreLogs } from "../../ports/store-logs.ts";
import type { StoreQueries } from "../../ports/store-queries.ts";
import type { StoreQuotas } from "../../ports/store-quotas.ts";
import type { StoreRecurrences } from "../../ports/store-recurrences.ts";
import type { StoreRequests } from "../../ports/store-requests.ts";
import type { RetryOutcome, StoreRuns } from "../../ports/store-runs.ts";
import type { StoreSteps } from "../../ports/store-steps.ts";
import type { StoreTenants } from "../../ports/store-tenants.ts";
import type { StoreTimeZones } from "../../ports/store-time-zones.ts";
import type { StoreWebhooks } from "../../ports/store-webhooks.ts";
import type { Latency, StoreFault, StoreOperation } from "./fate.ts";
import { copied } from "./history.ts";
import { ingest } from "./ingest-table.ts";
import { Journey, type StoreTime } from "./journey.ts";
import { maintain } from "./maintain.ts";
import { audit, deadLetters, executionRuns, keys, NotedCalls, tenants, webhooks } from "./noted-calls.ts";
import { requests } from "./requests.ts";
import { commit } from "./rows/commit.ts";
import * as flows from "./rows/flows.ts";
import * as changes from "./rows/job-changes.ts";
import { ledger, recurringJobs, traces } from "./rows/ledger.ts";
import * as queries from "./rows/queries.ts";
import * as reads from "./rows/reads.ts";
import * as recurrences from "./rows/recurrences.ts";
import { retryRun } from "./rows/retry-run.ts";
import * as runs from "./rows/runs.ts";
import { addSignal } from "./rows/signal-table.ts";
import { answeredBefore, submit } from "./rows/submit.ts";
import { changeOver } from "./rows/time-zones.ts";
import type { StoreData } from "./store-data.ts";
import { releaseShards, takeOver } from "./take-over.ts";

export interface SimStoreOptions {
  data: StoreData;
  /** Node that uses the connection. */
  node: Incarnation;
  time: StoreTime;
  latency: Latency;
  /** Delivers answers to the node; default: at once. */
  deliver?: (run: () => void) => void;
  /** Called for every fault that happens. */
  onFault?: (fault: StoreFault) => void;
}

/**
 * One node's connection to a simulated store. The latency decides when a call takes effect and when it is answered.
 * Commits and takeovers of a node run one after the other, as on the single connection that the real store has for
 * them.
 */
export class SimStore implements Store {
  readonly #options: Required<SimStoreOptions>;
  readonly #data: StoreData;
  #commits: Promise<unknown> = Promise.resolve();
  #closing: (() => void) | null = null;
  #isClosed = false;
  /** Calls that were sent and not answered. */
  readonly #journeys = new Set<{ breakOff(): void }>();
  /** Timeline of the store in which each shard was taken over. */
  readonly #takenIn = new Map<ShardId, number>();
  #tellTakeoversEnded: () => void = () => undefined;
  readonly #noted: NotedCalls;

  constructor(options: SimStoreOptions) {
    this.#options = { deliver: (run) => run(), onFault: () => undefined, ...options };
    this.#data = options.data;
    const call = <T>(operation: StoreOperation, effect: () => T) => this.#call(operation, effect);
    this.#noted = new NotedCalls(options.data, call, options.data.newChain(options.node));
    this.requests = requests(options.data, options.node, call, this.#noted);
    this.ingest = ingest(options.data, options.node, call, this.#noted);
    this.webhooks = webhooks(options.data, call, this.#noted);
    this.keys = keys(options.data, call, this.#noted);
    this.deadLetters = deadLetters(options.data, options.node, call, this.#noted);
    this.executionRuns = executionRuns(options.data, call, this.#noted);
    this.audit = audit(options.data, call, this.#noted);
    this.tenants = tenants(options.data, call, this.#noted);
  }

  readonly queries: StoreQueries = {
    getExecution: (...asked) => this.#call("getExecution", () => queries.getExecution(this.#data, ...asked)),
    listExecutions: (...asked) => this.#call("listExecutions", () => queries.listExecutions(this.#data, ...asked)),
    listRuns: (...asked) => this.#call("listRuns", () => runs.listRuns(this.#data, ...asked)),
    getRun: (...asked) => this.#call("getRun", () => runs.getRun(this.#data, ...asked)),
    listNodes: (...asked) => this.#call("listNodes", () => runs.listNodes(this.#data, ...asked)),
    getJob: (...asked) => this.#call("getJob", () => queries.getJob(this.#data, ...asked)),
    listJobs: (...asked) => this.#call("listJobs", () => queries.listJobs(this.#data, ...asked)),
    ledger: (...asked) => this.#call("ledger", () => ledger(this.#data, ...asked)),
    answered: (idempotency) => this.#call("answered", () => answeredBefore(this.#data, { idempotency })),
    overdue: (...asked) => this.#call("overdue", () => recurrences.overdue(this.#data, ...asked)),
    recurringJobs: (...asked) => this.#call("recurringJobs", () => recurringJobs(this.#data, ...asked)),
    traces: (...asked) => this.#call("traces", () => traces(this.#data, ...asked)),
    backlog: (limit) => this.#call("backlog", () => queries.backlog(this.#data, limit)),
    countListed: (...asked) => this.#call("countListed", () => queries.countListed(this.#data, ...asked)),
    countExecutions: (...asked) => this.#call("countExecutions", () => queries.countExecutions(this.#data, ...asked)),
  };

  readonly jobs: StoreJobs = {
    replace: (asked, note) =>
      this.#noted.make("replace", note, () => changes.replaceJob(this.#data, this.#options.node, asked), hasChanged),
    putNamed: (asked, note) =>
      this.#noted.make("putNamed", note, () => changes.putNamed(this.#data, this.#options.node, asked), hasChanged),
    delete: (asked, note) =>
      this.#noted.make("delete", note, () => changes.deleteJob(this.#data, this.#options.node, asked), hasChanged),
    run: (asked, note) =>
      this.#noted.make("run", note, () => changes.run(this.#data, this.#options.node, asked), hasChanged),
    order: (tenant, order, note) =>
      this.#noted.make("order", note, () => changes.order(this.#data, this.#options.node, tenant, order), hasChanged),
  };

  readonly recurrences: StoreRecurrences = {
    readDue: (...asked) => this.#call("readDue", () => recurrences.readDue(this.#data, ...asked)),
    dueFlows: (...asked) => this.#call("dueFlows", () => flows.dueFlows(this.#data, ...asked)),
    readDueFlows: (...asked) => this.#call("readDueFlows", () => flows.readDueFlows(this.#data, ...asked)),
    readAwaiting: (...asked) => this.#call("readAwaiting", () => recurrences.readAwaiting(this.#data, ...asked)),
    readOtherZones: (...asked) => this.#call("readOtherZones", () => recurrences.readOtherZones(this.#data, ...asked)),
    load: (jobIds) => this.#call("load", () => recurrences.load(this.#data, jobIds)),
    firedInstants: (...asked) => this.#call("firedInstants", () => recurrences.firedInstants(this.#data, ...asked)),
  };

  readonly runs: StoreRuns = {
    load: (...asked) => this.#call("load", () => runs.load(this.#data, ...asked)),
    results: (ids) => this.#call("results", () => runs.results(this.#data, ids)),
    kept: (ids) => this.#call("kept", () => runs.kept(this.#data, ids)),
    mapCounts: (ids) => this.#call("mapCounts", () => runs.mapCounts(this.#data, ids)),
    ends: (ids, bytes) => this.#call("ends", () => runs.ends(this.#data, ids, bytes)),
    items: (ids) => this.#call("items", () => runs.items(this.#data, ids)),
    origins: (ids) => this.#call("origins", () => runs.origins(this.#data, ids)),
    openRuns: (...asked) => this.#call("openRuns", () => runs.openRuns(this.#data, ...asked)),
    retry: (asked, note) =>
      this.#noted.make("retry", note, () => retryRun(this.#data, this.#options.node, asked), isNewRun),
  };

  readonly timeZones: StoreTimeZones = {
    changeovers: () => this.#call("changeovers", () => this.#data.zones.changeovers.slice(-1_000)),
    read: (version) => this.#call("read", () => this.#data.zones.versions.get(version) ?? null),
    versions: () => this.#call("versions", () => [...this.#data.zones.versions.keys()].sort()),
    changeOver: (number, version, data, leadMs, note) =>
      this.#noted.make("changeOver", note, () => changeOver(this.#data, number, version, data, leadMs)),
  };

  readonly steps: StoreSteps = {
    read: (ids) =>
      this.#call("read", () => {
        const found = ids.map((id) => [id, this.#data.steps.of(id)] as const);
        return new Map(found.filter(([, steps]) => steps.length > 0));
      }),
    readSignals: (ids) =>
      this.#call("readSignals", () => {
        const found = ids.map((id) => [id, this.#data.signals.openOf(id)] as const);
        return new Map(found.filter(([, signals]) => signals.length > 0));
      }),
    addSignal: (executionId, signal, command) => {
      const sent = { ...signal };
      return this.#call("addSignal", () =>
        addSignal(this.#data, this.#options.node, executionId, sent, { ...command }),
      );
    },
  };

  readonly handlers: StoreHandlers = {
    read: (known) => this.#call("read", () => this.#data.handlers.read(known)),
    keep: (declared, at) => {
      const sent = declared.map((one) => ({ ...one }));
      return this.#call("keep", () => this.#data.handlers.keep(sent, at));
    },
  };

  readonly events: StoreEvents = {
    read: (after, limit, shards) => {
      const sent = new Map(after);
      const asked = shards === undefined ? null : new Set(shards);
      return this.#call("read", () => this.#data.events.read(sent, limit, asked));
    },
    newest: () => this.#call("newest", () => this.#data.events.newest()),
    oldest: () => this.#call("oldest", () => this.#data.events.oldest()),
    leave: (members) => {
      const sent = members.map((member) => ({ ...member, events: [...member.events] }));
      return this.#call("leave", () => this.#data.leaveAlone(this.#options.node, sent));
    },
    readInbox: (shards, known, limit) => {
      const sent = new Set(known);
      return this.#call("readInbox", () => this.#data.events.readInbox(new Set(shards), sent, limit));
    },
  };

  readonly eventSinks: StoreEventSinks = {
    sinkPositions: (sink, shards) => {
      const asked = [...shards];
      return this.#call("sinkPositions", () => this.#data.events.sinkPositions(sink, asked, this.#data.now()));
    },
    advanceSink: (sink, reached) => {
      const sent = new Map(reached);
      return this.#call("advanceSink", () => this.#data.events.advanceSink(sink, sent));
    },
    eventBytes: (after, shards) => {
      const [sent, asked] = [new Map(after), [...shards]];
      return this.#call("eventBytes", () => this.#data.events.eventBytes(sent, asked));
    },
    dropEvents: (upTo) => {
      const sent = new Map(upTo);
      return this.#call("dropEvents", () => this.#data.events.dropUpTo(sent));
    },
  };

  readonly webhooks: StoreWebhooks;

  readonly keys: StoreKeys;

  readonly deadLetters: StoreDeadLetters;

  readonly executionRuns: StoreExecutionRuns;

  readonly audit: StoreAudit;

  readonly tenants: StoreTenants;

  readonly quotas: StoreQuotas = {
    takeTokens: (ask) => this.#call("takeTokens", () => this.#data.quotas.takeTokens(ask, this.#data.now())),
    takePlaces: (ask) => this.#call("takePlaces", () => this.#data.quotas.takePlaces(ask, this.#data)),
  };

  readonly requests: StoreRequests;

  readonly ingest: StoreIngest;

  readonly logs: StoreLogs = {
    keep: (parts) => {
      const sent = parts.map(({ tenant = null, ...part }) => ({ tenant, part: { ...part, lines: [...part.lines] } }));
      return this.#call("keep", () => {
        const own = sent.filter(({ part, tenant }) => this.#has(part.executionId, tenant));
        this.#data.logs.keep(own.map(({ part }) => part));
      });
    },
    read: (...asked) => this.#call("read", () => this.#data.logs.read(...asked)),
  };

  /**
   * Submits in two steps if only some submissions have keys; the second step may fail after the first has succeeded.
   */
  async submit(batch: readonly Submission[]): Promise<SubmitOutcome[]> {
    // The submissions are copied, because the caller may change its objects after the call.
    const sent = batch.map((submission) => ({ ...submission, jobs: [...submission.jobs] }));
    const outcomes = new Map<Submission, SubmitOutcome>();
    for (const part of [sent.filter((submission) => !isKeyed(submission)), sent.filter(isKeyed)]) {
      if (part.length === 0) continue;
      const notes = part.flatMap(({ note }) => note ?? []);
      const answers = await this.#noted.makeAll("submit", notes, () => submit(this.#data, this.#options.node, part));
      for (const [i, submission] of part.entries()) outcomes.set(submission, answers[i] as SubmitOutcome);
    }
    return sent.map((submission) => outcomes.get(submission) as SubmitOutcome);
  }

  commit(batch: readonly ShardCommit[]): Promise<ShardOutcome[]> {
    const sent = batch.map(copied);
    const { timeline } = this.#data;
    if (sent.some(({ shard }) => (this.#takenIn.get(shard) ?? timeline) !== timeline))
      return Promise.reject(new StoreUnavailable("The simulated store's connection is not that of the takeover"));
    return this.#inTurn("commit", () => commit(this.#data, this.#options.node, sent));
  }

  readShards: Store["readShards"] = () => this.#call("readShards", () => this.#data.holders());

  async takeOver(shards: readonly SeenShard[], owner: Incarnation): Promise<(Epoch | null)[]> {
    const sent = shards.map((seen) => ({ ...seen }));
    const { timeline } = this.#data;
    const epochs = await this.#inTurn("takeOver", () => takeOver(this.#data, sent, owner));
    for (const { shard } of sent) this.#takenIn.set(shard, timeline);
    return epochs;
  }

  watchTakeovers(tell: () => void): void {
    this.#tellTakeoversEnded = tell;
  }

  /** Breaks all connections of the node, which reconnects by itself. */
  breakOff(): void {
    for (const journey of this.#journeys) journey.breakOff();
    this.#options.deliver(() => this.#tellTakeoversEnded());
  }

  releaseShards(shards: readonly SeenShard[]): Promise<void> {
    const sent = shards.map(({ shard, epoch }) => ({ shard, epoch }));
    return this.#inTurn("releaseShards", () => releaseShards(this.#data, sent));
  }

  recover: Store["recover"] = (shards) => this.#call("recover", () => reads.recover(this.#data, shards));
  poll: Store["poll"] = (...asked) => this.#call("poll", () => reads.poll(this.#data, ...asked));
  readWaiting: Store["readWaiting"] = (...asked) =>
    this.#call("readWaiting", () => reads.readWaiting(this.#data, ...asked));
  waitingFlows: Store["waitingFlows"] = (...asked) =>
    this.#call("waitingFlows", () => flows.waitingFlows(this.#data, ...asked));
  readFlows: Store["readFlows"] = (...asked) => this.#call("readFlows", () => flows.readFlows(this.#data, ...asked));
  readReady: Store["readReady"] = (...asked) => this.#call("readReady", () => reads.readReady(this.#data, ...asked));
  readLanes: Store["readLanes"] = (...asked) => this.#call("readLanes", () => this.#data.executions.lanes(...asked));
  load: Store["load"] = (ids) => this.#call("load", () => reads.load(this.#data, ids));
  payloads: Store["payloads"] = (ids) => this.#call("payloads", () => reads.payloads(this.#data, ids));
  readCommands: Store["readCommands"] = (shards, known, limit) => {
    const sent = new Set(known);
    return this.#call("readCommands", () => this.#data.commands.read(new Set(shards), sent, limit));
  };
  readPools: Store["readPools"] = () => this.#call("readPools", () => reads.readPools(this.#data));
  putPool: Store["putPool"] = (change, note) =>
    this.#noted.make("putPool", note, () => reads.putPool(this.#data, change));
  clock: Store["clock"] = () => this.#call("clock", () => this.#options.time.now());
  maintain: Store["maintain"] = (now, retention) => this.#call("maintain", () => maintain(this.#data, now, retention));

  addCommand(command: Command, note?: AuditNote): Promise<void> {
    const sent = { ...command };
    return this.#noted.make("addCommand", note, () => reads.addCommand(this.#data, this.#options.node, sent));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#journeys.size > 0) await new Promise<void>((resolve) => (this.#closing = resolve));
  }

  /** @param tenant of the execution; null: any */
  #has(executionId: ExecutionId, tenant: string | null): boolean {
    const known = this.#data.executions.get(executionId);
    return known !== undefined && known.job.tenant === (tenant ?? known.job.tenant);
  }

  /** Makes a call with a fence behind those before it. On another server it fails, and the node opens the store again. */
  #inTurn<T>(operation: "commit" | "takeOver" | "releaseShards", effect: () => T): Promise<T> {
    const fenced = () => (this.#data.isRewound ? null : { answer: effect() });
    const turn = this.#commits.then(async () => ((await this.#call(operation, fenced, true)) ?? this.#reopen()).answer);
    this.#commits = turn.catch(() => undefined);
    return turn;
  }

  #reopen(): never {
    this.#data.raiseGeneration();
    this.breakOff();
    throw new StoreUnavailable("The simulated store is on another server");
  }

  /** @param canBeShutOut whether a takeover may end the call while it is on its way */
  #call<T>(operation: StoreOperation, effect: () => T, canBeShutOut = false): Promise<T> {
    if (this.#isClosed) return Promise.reject(new StoreUnavailable("The simulated store's connection was closed"));
    const { node, latency } = this.#options;
    const { onTheWay } = this.#data;
    const fate = latency({ node, operation });
    return new Promise((resolve, reject) => {
      const journey: Journey<T> = new Journey<T>(this.#wire(operation), fate, {
        effect: () => {
          // The call leaves the list before its effect, because a takeover must not shut out itself.
          onTheWay.remove(node, journey);
          return effect();
        },
        resolve: (answer) => this.#settled(journey, () => resolve(answer)),
        reject: (error) => this.#settled(journey, () => reject(error)),
      });
      this.#journeys.add(journey);
      if (canBeShutOut && fate.effectAfterMs !== null) onTheWay.add(node, journey);
      journey.begin();
    });
  }

  #wire(operation: StoreOperation) {
    const { node, time, deliver, onFault } = this.#options;
    return { time, deliver, onFault: (kind: StoreFault["kind"]) => onFault({ kind, node, operation }) };
  }

  #settled(journey: { breakOff(): void }, tell: () => void): void {
    this.#journeys.delete(journey);
    tell();
    if (this.#journeys.size === 0) this.#closing?.();
  }
}

function isNewRun(outcome: RetryOutcome): boolean {
  return outcome.kind === "ACCEPTED" && !outcome.replayed;
}

function isKeyed({ idempotency, jobs }: Submission): boolean {
  return (
    idempotency !== null ||
    jobs.some(({ executionId, definition }) => (executionId === null ? definition.name : definition.uniqueKey) !== null)
  );
}
