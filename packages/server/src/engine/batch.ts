import type { EpochMs, ExecutionId, Incarnation, JobId, ShardId, WorkerId } from "../domain/ids.ts";
import type { Assignment, ToApi, ToGateway, Token } from "../ports/messages.ts";
import type { JournalEntry, JournalRef, RowChange } from "../ports/store.ts";
import type { PlanChange } from "../ports/store-recurrences.ts";
import type { JournalBox } from "./journal-box.ts";
import type { Holding } from "./permits/holding.ts";

/** Changes that one shard writes in a tick. */
export interface ShardDraft {
  shard: ShardId;
  changes: Map<ExecutionId, RowChange>;
  assigned: JournalEntry[];
  box: JournalBox | null;
  settledJournals: JournalRef[];
  expected: { id: ExecutionId; attempt: number }[];
  plans: Map<JobId, PlanChange>;
  commandsDone: string[];
}

/** A permit that an attempt in a shard had. */
export interface Freed {
  executionId: ExecutionId;
  shard: ShardId;
  holding: Holding;
}

/** The next instant of a recurring job, which other time zone data has moved. */
export interface Moved {
  jobId: JobId;
  /** Name of the job; null: it has none. */
  name: string | null;
  from: EpochMs;
  /** null: it never fires again. */
  to: EpochMs | null;
  /** Time zone data by which the job is planned now. */
  tzdata: string;
}

/**
 * All that happens between two commits: what is to be written, and the messages that may leave only when it is.
 * Several steps may add to one batch; what they say of one execution is folded into one change.
 */
export class Batch {
  readonly number: number;
  readonly shards = new Map<ShardId, ShardDraft>();
  readonly assigns: Assignment[] = [];
  readonly toGateway: { node: Incarnation; message: ToGateway }[] = [];
  readonly toApi: { shard: ShardId; message: ToApi }[] = [];
  /** Assignments that were sent before and did not arrive. */
  readonly resends: Assignment[] = [];
  /** Results that the batch makes durable, by gateway and worker. */
  readonly acks = new Map<Incarnation, Map<WorkerId, Token[]>>();
  /** Executions that started for the first time, for the figures. */
  readonly starts: { pool: string; latenessMs: number }[] = [];
  /** Attempts that ran to their end, and */
  readonly runs: { pool: string; runMs: number }[] = [];
  /** the pools of executions that became DEAD, for the figures too. */
  readonly deadLetters: string[] = [];
  /** Planned instants that other time zone data moved. */
  readonly moved: Moved[] = [];
  /** Grace of the jobs whose plans move on, in milliseconds: a fire that is late by less counts as punctual. */
  readonly graceMs = new Map<JobId, number>();
  /** Rows that a miss does not condemn the machine for. */
  readonly unverified = new Set<ExecutionId>();
  /** Permits of attempts whose end the batch writes: they are held until it is durable. */
  readonly freed: Freed[] = [];
  /** Starts and results that came with an old token. */
  refusedStale = 0;
  changeCount = 0;
  /** Rows that plans add: executions and skips. */
  planRows = 0;
  /** Payloads of assigned executions and results. */
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
      };
      this.shards.set(shard, draft);
    }
    return draft;
  }

  /** Folds: what the row said before the batch stays the comparison, the histories are joined, the rest is the last word. */
  write(shard: ShardId, change: RowChange): void {
    const { changes } = this.shard(shard);
    const before = changes.get(change.id);
    this.bytes += change.result?.length ?? 0;
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
   * Folds: the row as it was before the batch stays the comparison, what became of instants is joined, the plan is the
   * last word.
   */
  advance(shard: ShardId, change: PlanChange): void {
    const { plans } = this.shard(shard);
    const before = plans.get(change.jobId);
    this.planRows += change.births.length + change.skips.length;
    if (before === undefined) plans.set(change.jobId, change);
    else {
      const births = [...before.births, ...change.births];
      const skips = [...before.skips, ...change.skips];
      plans.set(change.jobId, { ...change, wasRevision: before.wasRevision, births, skips });
    }
  }

  acknowledge(node: Incarnation, workerId: WorkerId, token: Token): void {
    let workers = this.acks.get(node);
    if (workers === undefined) this.acks.set(node, (workers = new Map()));
    const tokens = workers.get(workerId);
    if (tokens === undefined) workers.set(workerId, [token]);
    else tokens.push(token);
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

  /** The batch neither writes nor sends anything that belongs to these shards. */
  drop(shards: ReadonlySet<ShardId>): void {
    for (const shard of shards) this.shards.delete(shard);
    const stays = ({ shard }: { shard: ShardId }) => !shards.has(shard);
    keep(this.assigns, stays);
    keep(this.resends, stays);
    keep(this.toApi, stays);
    keep(this.freed, stays);
    for (const workers of this.acks.values()) for (const tokens of workers.values()) keep(tokens, stays);
    keep(this.toGateway, ({ message }) => !isAbout(message, shards));
  }
}

function keep<T>(list: T[], stays: (item: T) => boolean): void {
  const kept = list.filter(stays);
  if (kept.length < list.length) list.splice(0, list.length, ...kept);
}

/** Orders name one attempt each; what else is said to gateways is about workers. */
function isAbout(message: ToGateway, shards: ReadonlySet<ShardId>): boolean {
  if (message.kind === "CANCEL") return shards.has(message.token.shard);
  return message.kind === "REFUSED" && message.tokens.some(({ shard }) => shards.has(shard));
}
