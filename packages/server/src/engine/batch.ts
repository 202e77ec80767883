import type { EpochMs, ExecutionId, Incarnation, JobId, ShardId, WorkerId } from "../domain/ids.ts";
import type { LifecycleEvent } from "../domain/lifecycle-event.ts";
import { replaces } from "../domain/step.ts";
import type { EndDelivery } from "../domain/webhook.ts";
import type { Assignment, ToApi, ToGateway, Token } from "../ports/messages.ts";
import type { DurableStep } from "../ports/step-messages.ts";
import type { ExpectedRow, JournalEntry, JournalRef, RowChange, StepWrite } from "../ports/store.ts";
import type { AddedCommand } from "../ports/store-commands.ts";
import type { PlanChange } from "../ports/store-recurrences.ts";
import type { NewPart, NodeBirth, RunChange } from "../ports/store-runs.ts";
import { withdrawEvents } from "./events.ts";
import type { JournalBox } from "./journal-box.ts";
import type { PoolPermits } from "./permits/pool-permits.ts";

/** Changes that one shard writes in a tick. */
export interface ShardDraft {
  shard: ShardId;
  changes: Map<ExecutionId, RowChange>;
  assigned: JournalEntry[];
  box: JournalBox | null;
  settledJournals: JournalRef[];
  expected: ExpectedRow[];
  plans: Map<JobId, PlanChange>;
  commandsDone: string[];
  /** Commands that the batch adds to the inboxes of any shards, by id. */
  commands: Map<string, AddedCommand>;
  /** Records of handlers, by execution and name. */
  steps: Map<string, StepWrite>;
  /** Changes of workflow runs, by run. */
  runs: Map<ExecutionId, RunChange>;
  /** Nodes of workflow runs that the batch creates. */
  births: NodeBirth[];
  /** Lifecycle events of the changes; null: none. */
  events: LifecycleEvent[] | null;
  /** Webhooks of the ends of executions with `onFinish`; null: none. */
  deliveries: EndDelivery[] | null;
  /** Ids of events in the inbox that the batch takes out of it. */
  inbox: string[] | null;
}

/** A permit that an ended attempt in a shard had. */
export interface Freed {
  executionId: ExecutionId;
  shard: ShardId;
  poolPermits: PoolPermits;
}

/** A change of a recurring job's next instant, caused by other time zone data. */
export interface Moved {
  jobId: JobId;
  /** Name of the job; null: it has none. */
  name: string | null;
  from: EpochMs;
  /** New instant; null: the job never fires again. */
  to: EpochMs | null;
  /** Time zone data by which the job is planned now. */
  tzdata: string;
}

/**
 * Result of the steps between two commits: the rows to write, and the messages that may leave only after the commit.
 * Several steps may add to one batch. The batch folds their changes of one execution into one change.
 */
export class Batch {
  readonly number: number;
  readonly shards = new Map<ShardId, ShardDraft>();
  readonly assigns: Assignment[] = [];
  /** Assignments, and bytes of their payloads, by pool. */
  readonly filled = new Map<string, { assigns: number; bytes: number }>();
  readonly toGateway: { node: Incarnation; message: ToGateway }[] = [];
  readonly toApi: { shard: ShardId; message: ToApi }[] = [];
  /** Assignments to send again, because their gateway reported that an earlier message did not arrive. */
  readonly resends: Assignment[] = [];
  /** Results that the batch makes durable, by gateway and worker. */
  readonly acks = new Map<Incarnation, Map<WorkerId, Token[]>>();
  /** Records of handlers that the batch makes durable. */
  readonly stepAcks = new Map<Incarnation, Map<WorkerId, DurableStep[]>>();
  /** First starts of executions, for metrics. */
  readonly starts: { pool: string; latenessMs: number }[] = [];
  /** Attempts that ran and have ended, for metrics. */
  readonly runs: { pool: string; runMs: number }[] = [];
  /** Handlers of attempts that ended as FAILED or TIMED_OUT, for metrics. */
  readonly failures: string[] = [];
  /** Pools of executions that became DEAD, for metrics. */
  readonly deadLetters: string[] = [];
  /** Next instants that other time zone data moved. */
  readonly moved: Moved[] = [];
  /** Grace of the jobs whose plans advance, in ms. A fire that is late by less counts as punctual. */
  readonly graceMs = new Map<JobId, number>();
  /**
   * Executions known only from a hint. If the commit misses such a row, only the hint was wrong, and the machine need
   * not be dropped.
   */
  readonly unverified = new Set<ExecutionId>();
  /** Runs of the nodes whose ends the batch writes, by execution. */
  readonly nodeEnds = new Map<ExecutionId, ExecutionId>();
  /** Permits of attempts whose end the batch writes. They stay in use until the end is durable. */
  readonly freed: Freed[] = [];
  /** Number of starts and results that the machine refused because of an old token. */
  refusedStale = 0;
  changeCount = 0;
  /** Number of executions that return to the store because their lanes are full. */
  overflows = 0;
  /** Number of nodes of workflow runs that the batch creates. */
  births = 0;
  /** Number of commands that the batch adds. */
  commands = 0;
  /** Nodes that the present step creates. */
  readonly newBirths: NodeBirth[] = [];
  /** Number of rows that plans add: executions and skips. */
  planRows = 0;
  /** Bytes of the payloads of assigned executions and of the results. */
  bytes = 0;

  constructor(number: number) {
    this.number = number;
  }

  shard(shard: ShardId): ShardDraft {
    let draft = this.shards.get(shard);
    if (draft === undefined) {
      draft = {
        shard,
        changes: new Map(),
        assigned: [],
        box: null,
        settledJournals: [],
        expected: [],
        plans: new Map(),
        commandsDone: [],
        commands: new Map(),
        steps: new Map(),
        runs: new Map(),
        births: [],
        events: null,
        deliveries: null,
        inbox: null,
      };
      this.shards.set(shard, draft);
    }
    return draft;
  }

  /**
   * Folds a change into an earlier one of the same row: the expected state stays that of before the batch, the
   * histories are joined, and the later change wins in all other fields.
   */
  write(shard: ShardId, change: RowChange): void {
    const { changes } = this.shard(shard);
    const before = changes.get(change.id);
    this.bytes += (change.result?.length ?? 0) + (change.spawn === undefined ? 0 : bytesOf(change.spawn));
    if (before === undefined) {
      this.changeCount++;
      changes.set(change.id, change);
      return;
    }
    const replacement = change.replacement ?? before.replacement;
    changes.set(change.id, {
      ...change,
      ...(replacement !== undefined && { replacement }),
      wasState: before.wasState,
      wasAttempt: before.wasAttempt,
      ended: [...before.ended, ...change.ended],
    });
  }

  /**
   * Folds a plan's change into an earlier one of the same plan: the expected revision stays that of before the batch,
   * the outcomes of instants are joined, and the later plan wins.
   */
  advance(shard: ShardId, change: PlanChange): void {
    const { plans } = this.shard(shard);
    const before = plans.get(change.jobId);
    this.planRows += change.created.length + change.skips.length;
    if (before === undefined) plans.set(change.jobId, change);
    else {
      const created = [...before.created, ...change.created];
      const skips = [...before.skips, ...change.skips];
      plans.set(change.jobId, { ...change, wasRevision: before.wasRevision, created, skips });
    }
  }

  /** Adds a record, unless an earlier one of the same name counts. @returns whether the batch writes it */
  record(shard: ShardId, write: StepWrite): boolean {
    const { steps } = this.shard(shard);
    const key = `${write.executionId}/${write.name}`;
    const before = steps.get(key);
    this.bytes += write.data?.length ?? 0;
    if (before !== undefined && !replaces(write, before)) return false;
    steps.set(key, write);
    return true;
  }

  /** Folds a change of a workflow run into an earlier one: the expected revision stays that of before the batch. */
  changeRun(shard: ShardId, change: RunChange): void {
    const { runs } = this.shard(shard);
    const before = runs.get(change.run);
    if (before === undefined) runs.set(change.run, change);
    else {
      const after = [...(before.after ?? []), ...(change.after ?? [])];
      const mapCounts = change.mapCounts ?? before.mapCounts;
      const counts = mapCounts === undefined ? {} : { mapCounts };
      runs.set(change.run, { ...change, wasRevision: before.wasRevision, after, ...counts });
    }
  }

  /** Creates a node of a workflow run. @param shard shard of the run */
  create(shard: ShardId, birth: NodeBirth): void {
    this.shard(shard).births.push(birth);
    // The execution of a node that is a workflow has no worker.
    if (birth.workflow === undefined) this.newBirths.push(birth);
    this.births++;
  }

  /** Adds a command for the owner of any shard. @param shard shard under whose fence the batch adds it */
  addCommand(shard: ShardId, added: AddedCommand): void {
    this.shard(shard).commands.set(added.command.id, added);
    this.commands++;
  }

  /**
   * Takes back what follows from the ends of a run's nodes, because one of them is not durable as it was reported.
   * @returns nodes that the batch does not create any more
   */
  withdraw(run: ExecutionId): ExecutionId[] {
    const withdrawn: ExecutionId[] = [];
    const isOther = ({ row }: NodeBirth) => row.jobId !== run;
    for (const draft of this.shards.values()) {
      const own = draft.births.filter((birth) => !isOther(birth)).map(({ row }) => row.id);
      withdrawn.push(...own);
      withdrawEvents(draft, new Set(own));
      draft.births = draft.births.filter(isOther);
      if (draft.runs.get(run)?.mode === "FAILING") draft.runs.delete(run);
    }
    keep(this.newBirths, isOther);
    return withdrawn;
  }

  /** Removes assignments of these executions. @returns the removed assignments */
  unassign(executions: ReadonlySet<ExecutionId>): Assignment[] {
    const removed = this.assigns.filter(({ executionId }) => executions.has(executionId));
    keep(this.assigns, ({ executionId }) => !executions.has(executionId));
    return removed;
  }

  acknowledge(node: Incarnation, workerId: WorkerId, token: Token): void {
    addTo(this.acks, node, workerId, token);
  }

  acknowledgeStep(node: Incarnation, workerId: WorkerId, step: DurableStep): void {
    addTo(this.stepAcks, node, workerId, step);
  }

  /**
   * A refused change is not durable, so its ACK moves to the batch that writes the row that replaces it. A REFUSED for
   * a repeated result moves with it: the worker would forget a result that the store does not hold yet.
   */
  postpone(refused: ReadonlySet<ExecutionId>, next: Batch): void {
    for (const freed of this.freed) if (refused.has(freed.executionId)) next.freed.push(freed);
    keep(this.freed, ({ executionId }) => !refused.has(executionId));
    for (const [node, workers] of this.acks) {
      for (const [workerId, tokens] of workers) {
        for (const token of tokens) if (refused.has(token.executionId)) next.acknowledge(node, workerId, token);
        keep(tokens, ({ executionId }) => !refused.has(executionId));
      }
    }
    const isTooEarly = ({ message }: { message: ToGateway }) =>
      message.kind === "REFUSED" && message.tokens.some(({ executionId }) => refused.has(executionId));
    next.toGateway.push(...this.toGateway.filter(isTooEarly));
    keep(this.toGateway, (mail) => !isTooEarly(mail));
  }

  get hasWrites(): boolean {
    return this.shards.size > 0;
  }

  get hasMail(): boolean {
    return this.toGateway.length > 0 || this.toApi.length > 0 || this.resends.length > 0;
  }

  /** Removes from the batch all writes and messages that belong to these shards. */
  drop(shards: ReadonlySet<ShardId>): void {
    for (const shard of shards) this.shards.delete(shard);
    keep(this.newBirths, ({ row }) => !shards.has(row.shard));
    const stays = ({ shard }: { shard: ShardId }) => !shards.has(shard);
    keep(this.assigns, stays);
    keep(this.resends, stays);
    keep(this.toApi, stays);
    keep(this.freed, stays);
    for (const workers of this.acks.values()) for (const tokens of workers.values()) keep(tokens, stays);
    for (const workers of this.stepAcks.values()) for (const steps of workers.values()) keep(steps, stays);
    keep(this.toGateway, ({ message }) => !isAbout(message, shards));
  }
}

function bytesOf({ graph, definitions, payloads }: NewPart): number {
  return payloads.reduce((sum, { payload }) => sum + payload.length, graph.length + definitions.length);
}

function addTo<T>(lists: Map<Incarnation, Map<WorkerId, T[]>>, node: Incarnation, workerId: WorkerId, item: T): void {
  let workers = lists.get(node);
  if (workers === undefined) lists.set(node, (workers = new Map()));
  const items = workers.get(workerId);
  if (items === undefined) workers.set(workerId, [item]);
  else items.push(item);
}

/** Removes items of a list. */
export function keep<T>(list: T[], stays: (item: T) => boolean): void {
  const kept = list.filter(stays);
  if (kept.length < list.length) list.splice(0, list.length, ...kept);
}

/**
 * Whether a message is about an attempt in these shards. CANCEL and REFUSED are; other messages to gateways are about
 * workers.
 */
function isAbout(message: ToGateway, shards: ReadonlySet<ShardId>): boolean {
  if (message.kind === "CANCEL") return shards.has(message.token.shard);
  return message.kind === "REFUSED" && message.tokens.some(({ shard }) => shards.has(shard));
}
