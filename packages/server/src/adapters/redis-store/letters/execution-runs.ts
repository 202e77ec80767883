import type { EpochMs } from "../../../domain/ids.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import {
  added,
  type BeginOutcome,
  type Chunk,
  type ChunkOutcome,
  type ExecutionRun,
  type Held,
  type HeldRun,
  type NewExecutionRun,
  OPEN_RUNS_MAX,
  type StoreExecutionRuns,
} from "../../../ports/store-execution-runs.ts";
import type { Listing, Page } from "../../../ports/store-queries.ts";
import { digestOfTexts } from "../../../ports/text-digest.ts";
import type { AuditTrail } from "../audit-trail.ts";
import { ID_BYTES } from "../bytes.ts";
import type { RedisConnection } from "../redis-connection.ts";

/** Time for which a finished run stays readable, in ms. */
const RUN_KEPT_MS = 7 * 86_400_000;
/** Runs of one answer of `open`. */
const OPEN_MAX = 100;

/** A run as its text has it. */
interface StoredRun extends ExecutionRun {
  turn: number;
  heldUntil: EpochMs;
  marker: string | null;
  chunk: Chunk | null;
}

/** Runs over executions. Node decides each change, and the function compares the text that Node has read. */
export class ExecutionRuns implements StoreExecutionRuns {
  readonly #db: RedisConnection;
  readonly #trail: AuditTrail;

  constructor(db: RedisConnection, trail: AuditTrail) {
    this.#db = db;
    this.#trail = trail;
  }

  async begin(run: NewExecutionRun, note?: AuditNote): Promise<BeginOutcome> {
    const { idempotencyKey: key, ...asked } = run;
    const name = key === null ? Buffer.alloc(0) : digestOfTexts(run.tenant, key);
    const fresh: StoredRun = {
      ...{ ...asked, done: 0, refusals: {}, isStopped: false, finishedAt: null },
      ...{ turn: 0, heldUntil: 0, marker: null, chunk: null },
    };
    const args = [run.tenant, run.runId, JSON.stringify(fresh), name, `${OPEN_RUNS_MAX}`];
    const notes = note === undefined ? [] : [note];
    for (;;) {
      const known = await this.#known(run, name);
      if (known !== null) return known;
      const call = [...args, `${run.createdAt - RUN_KEPT_MS}`];
      const answer = await this.#trail.call("ms_begin_execution_run", call, notes, (done) => done === 1);
      if (answer === 1) return { kind: "BEGUN", run: shown(fresh) };
      if (answer === -1) return { kind: "TOO_MANY" };
    }
  }

  async get(tenant: string, runId: string): Promise<ExecutionRun | null> {
    const run = await this.#read(runId);
    return run?.tenant === tenant ? shown(run) : null;
  }

  async list(tenant: string, { after, limit }: Page): Promise<Listing<ExecutionRun>> {
    const from = after === null ? "+" : `(${after}`;
    const key = this.#db.key(`ert${tenant}`);
    const [ids] = await this.#db.call([["ZRANGE", key, from, "-", "BYLEX", "REV", "LIMIT", "0", `${limit + 1}`]]);
    const names = ids as Buffer[];
    if (names.length === 0) return { items: [], next: null };
    const [values] = await this.#db.call([["HMGET", this.#db.key("er"), ...names]]);
    const found = (values as (Buffer | null)[]).flatMap((value) => (value === null ? [] : shown(runOf(value))));
    const items = found.slice(0, limit);
    return { items, next: names.length > limit ? (items.at(-1)?.runId ?? null) : null };
  }

  async stop(tenant: string, runId: string, at: EpochMs, note?: AuditNote): Promise<ExecutionRun | null> {
    const run = await this.#changed(
      runId,
      (known) =>
        known.tenant !== tenant || known.finishedAt !== null ? null : { ...known, isStopped: true, finishedAt: at },
      note,
    );
    return run === null ? await this.get(tenant, runId) : shown(run);
  }

  async open(now: EpochMs): Promise<string[]> {
    const [ids] = await this.#db.call([
      ["ZRANGE", this.#db.key("ero"), "-inf", `${now}`, "BYSCORE", "LIMIT", "0", `${OPEN_MAX}`],
    ]);
    return (ids as Buffer[]).map(String);
  }

  async take(runId: string, now: EpochMs, until: EpochMs): Promise<HeldRun | null> {
    const run = await this.#changed(runId, (known) =>
      known.finishedAt !== null || known.heldUntil > now ? null : { ...known, turn: known.turn + 1, heldUntil: until },
    );
    return run === null ? null : { runId, turn: run.turn, run: shown(run), marker: run.marker, chunk: run.chunk };
  }

  async plan({ runId, turn }: Held, chunk: Chunk, until: EpochMs): Promise<boolean> {
    const run = await this.#changed(runId, (known) =>
      known.finishedAt !== null || known.turn !== turn ? null : { ...known, chunk, heldUntil: until },
    );
    return run !== null;
  }

  async account(held: Held, outcome: ChunkOutcome, at: EpochMs, isOver: boolean): Promise<boolean> {
    let wasStopped = false;
    const run = await this.#changed(held.runId, (known) => {
      if (known.turn !== held.turn || known.chunk === null) return null;
      wasStopped = known.finishedAt !== null;
      const { done, refusals, next } = outcome;
      const sums = { done: known.done + done, refusals: added(known.refusals, refusals) };
      return { ...known, ...sums, marker: next, chunk: null, finishedAt: known.finishedAt ?? (isOver ? at : null) };
    });
    return run !== null && !wasStopped;
  }

  /** The run that a request has begun before; null: there is none. */
  async #known({ tenant, runId, action, filter }: NewExecutionRun, name: Buffer): Promise<BeginOutcome | null> {
    const [byKey] = name.length === 0 ? [null] : await this.#db.call([["HGET", this.#db.key("eri"), name]]);
    const first = await this.#read(byKey === null ? runId : String(byKey));
    if (first === null || first.tenant !== tenant) return null;
    const isSame = first.action === action && first.filter === filter;
    return isSame ? { kind: "KNOWN", run: shown(first) } : { kind: "KEY_REUSED" };
  }

  async #read(runId: string): Promise<StoredRun | null> {
    const [value] = await this.#db.call([["HGET", this.#db.key("er"), runId]]);
    return value === null ? null : runOf(value as Buffer);
  }

  /**
   * Changes a run. A change beside another one reads again.
   * @param change the run afterwards; null: nothing is to change
   * @returns the run afterwards; null: nothing has changed, or there is no such run
   */
  async #changed(
    runId: string,
    change: (run: StoredRun) => StoredRun | null,
    note?: AuditNote,
  ): Promise<StoredRun | null> {
    for (;;) {
      const [value] = await this.#db.call([["HGET", this.#db.key("er"), runId]]);
      if (value === null) return null;
      const run = change(runOf(value as Buffer));
      if (run === null) return null;
      const before = (value as Buffer).subarray(ID_BYTES);
      const hold = run.finishedAt === null ? `${run.heldUntil}` : "";
      const args = [run.tenant, runId, before, JSON.stringify(run), hold, `${run.finishedAt ?? ""}`];
      const notes = note === undefined ? [] : [note];
      const answer = await this.#trail.call("ms_change_execution_run", args, notes, (done) => done === 1);
      if (answer === 1) return run;
    }
  }
}

function runOf(value: Buffer): StoredRun {
  return JSON.parse(value.toString("utf8", ID_BYTES)) as StoredRun;
}

function shown(stored: StoredRun): ExecutionRun {
  const { turn: _, heldUntil: __, marker: ___, chunk: ____, ...run } = stored;
  return run;
}
