import type { Committed, EndedAttempt, ExecutionRow, StoreEvent, WentBack } from "@mainspring/server/testing";

/** An assignment at the time when it became durable. */
export interface Assigned {
  worker: string;
  epoch: number;
  /** Time of the write, by the store's clock. */
  at: number;
  /** Due time of the execution, as the row said then. */
  dueAt: number;
}

/** Writes about one execution. */
export interface Account {
  row: ExecutionRow;
  /** Every attempt that was assigned, by number. */
  readonly assigned: Map<number, Assigned>;
  readonly ended: Map<number, EndedAttempt>;
  /** Number of the attempt that is assigned and has not ended; null: none. */
  current: number | null;
}

/** Records of the executions in the store, for other checkers. */
export class Ledger {
  readonly accounts = new Map<string, Account>();
  /** Executions that are not final. */
  readonly open = new Set<string>();

  get(id: string): Account | undefined {
    return this.accounts.get(id);
  }

  /** This checker receives each event before the others. */
  readonly name = "the ledger";

  saw(event: StoreEvent): void {
    if (event.kind === "WENT_BACK") this.#wentBack(event);
    for (const row of addedRows(event)) {
      this.accounts.set(row.id, { row, assigned: new Map(), ended: new Map(), current: null });
      if (!isOver(row.state)) this.open.add(row.id);
    }
    if (event.kind === "COMMITTED" && event.outcome.status === "APPLIED") this.#committed(event);
  }

  /** Earlier assignments stay known, because they may still be on their way. */
  #wentBack({ rows, inFlight }: WentBack): void {
    const before = new Map(this.accounts);
    this.accounts.clear();
    this.open.clear();
    for (const row of rows) {
      const assigned = new Map(before.get(row.id)?.assigned);
      const ended = new Map(row.attempts.map((attempt) => [attempt.attempt, attempt]));
      this.accounts.set(row.id, { row, assigned, ended, current: null });
      if (!isOver(row.state)) this.open.add(row.id);
    }
    for (const { row, attempt } of inFlight) {
      const account = this.accounts.get(row.id);
      if (account !== undefined && !account.ended.has(attempt)) account.current = attempt;
    }
  }

  #committed(event: Committed): void {
    const { asked, applied, outcome, at } = event;
    for (const { after } of applied) this.#changed(after);
    const missed = new Set(outcome.missed);
    for (const { id, attempt, workerId } of assignedIn(event)) {
      const account = this.accounts.get(id);
      if (account === undefined || missed.has(id)) continue;
      account.assigned.set(attempt, { worker: workerId, epoch: asked.epoch, at, dueAt: account.row.dueAt });
      // An owner may have given up an attempt before it sent the commit that assigns the attempt. That commit also says
      // how the attempt ended.
      if (!account.ended.has(attempt)) account.current = attempt;
    }
  }

  #changed(row: ExecutionRow): void {
    const account = this.accounts.get(row.id);
    if (account === undefined) return;
    account.row = row;
    for (const ended of row.attempts) account.ended.set(ended.attempt, ended);
    if (account.current !== null && account.ended.has(account.current)) account.current = null;
    if (isOver(row.state)) this.open.delete(row.id);
  }
}

/** New rows of an event: of a submit, a plan, a replay, a run, or a node of a workflow. */
export function addedRows(event: StoreEvent): readonly ExecutionRow[] {
  if (event.kind === "COMMITTED") return event.nodes.length === 0 ? event.born : [...event.born, ...event.nodes];
  if (event.kind === "SUBMITTED" || event.kind === "SETTLED" || event.kind === "RUN_RETRIED") return event.rows;
  return event.kind === "JOB_CHANGED" && event.row !== null ? [event.row] : [];
}

/** An attempt that a commit gives to a worker. */
interface Given {
  id: string;
  attempt: number;
  workerId: string;
  assignedAt: number;
}

/** Attempts that a commit gives to workers: by its row of the journal, and by the rows of nodes that it creates. */
export function assignedIn({ asked, nodes }: Committed): readonly Given[] {
  const born = nodes.flatMap(({ id, attempt, workerId, job: { createdAt: assignedAt } }) =>
    workerId === null ? [] : [{ id, attempt, workerId, assignedAt }],
  );
  return born.length === 0 ? asked.assigned : [...asked.assigned, ...born];
}

/**
 * Attempts that end and begin in a commit. An owner may have given up an attempt before it sent the commit that assigns the attempt. That
 * commit also says how the attempt ended, so the attempt does not begin.
 */
export function turnsIn(
  event: Committed,
  { missed }: { missed: readonly string[] },
): { ended: readonly ExecutionRow[]; begun: readonly Given[] } {
  const ended = event.applied.map(({ after }) => after).filter(({ state }) => state !== "RUNNING");
  const endedBy = new Map(ended.map(({ id, attempt }) => [id, attempt]));
  const absent = new Set(missed);
  const begun = assignedIn(event).filter(({ id, attempt }) => !absent.has(id) && (endedBy.get(id) ?? 0) < attempt);
  return { ended, begun };
}

/** Whether the row is that of a workflow's run, or of a sub-workflow's. It has no attempts. */
export function isRun(row: ExecutionRow): boolean {
  return (row.node !== null && row.node < 0) || isChildRun(row);
}

/** Whether the row is that of a node that runs a sub-workflow. */
export function isChildRun({ node, job }: ExecutionRow): boolean {
  return node !== null && node >= 0 && job.definition.handler === "$workflow";
}

/** The rule is repeated here, because checkers use no code that they judge. */
export function isOver(state: string): boolean {
  return ["SUCCEEDED", "CANCELLED", "SKIPPED", "DEAD"].includes(state);
}
