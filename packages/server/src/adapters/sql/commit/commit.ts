import type { ShardId } from "../../../domain/ids.ts";
import { type ChunkLimit, chunked } from "../../../ports/chunks.ts";
import type { ShardCommit, ShardOutcome } from "../../../ports/store.ts";
import type { PlanChange } from "../../../ports/store-recurrences.ts";
import { WithheldJournals } from "../../../ports/withheld-journals.ts";
import type { Connections } from "../connection/connections.ts";
import { isDataError, isRefusal, storeError } from "../connection/errors.ts";
import { persistently } from "../connection/persistently.ts";
import { addedCommands } from "../workflows/added-commands.ts";
import { spawnedBytes } from "../workflows/spawned.ts";
import { type CommitAnswer, commitAnswer, commitStatement } from "./commit-statement.ts";
import { deliveredBytes } from "./end-deliveries.ts";
import { findOffendingRows, type OffendingRow, without } from "./offending-rows.ts";
import type { RaisedLevels } from "./raised-levels.ts";
import { isTelling, toldBytes } from "./told-events.ts";

/**
 * Limit of one statement. A tick is one statement, unless it contains very many large results or created occurrences:
 * PostgreSQL refuses a message of a gigabyte, and cannot write so many rows within the statement timeout, and neither
 * would change at a retry. The changes of one shard always stay together.
 */
const STATEMENT: ChunkLimit = { count: 10_000, bytes: 32 * 1024 * 1024 };

/** Writes ticks one at a time, because there is one connection for commits. See Store.commit. */
export class Committer {
  readonly #db: Connections;
  readonly #now: () => number;
  readonly #withheld = new WithheldJournals();
  /** Number of the connection on which each shard was taken over. */
  readonly #takenOn = new Map<ShardId, number>();
  readonly #levels: RaisedLevels;

  constructor(db: Connections, levels: RaisedLevels, now: () => number) {
    this.#db = db;
    this.#levels = levels;
    this.#now = now;
  }

  async commit(batch: readonly ShardCommit[]): Promise<ShardOutcome[]> {
    const outcomes: ShardOutcome[] = [];
    for (const part of chunked(batch, STATEMENT, weightOf)) outcomes.push(...(await this.#commitPart(part)));
    return outcomes;
  }

  /**
   * Forgets the withheld rows of these shards. The rows are still open in the journal, where the new owner finds them.
   */
  tookOver(shards: readonly ShardId[], connection: number): void {
    this.#withheld.forget(shards);
    for (const shard of shards) this.#takenOn.set(shard, connection);
  }

  /** @returns whether shards were taken over on this connection */
  tookOverOn(connection: number): boolean {
    return [...this.#takenOn.values()].includes(connection);
  }

  async #commitPart(batch: readonly ShardCommit[]): Promise<ShardOutcome[]> {
    const whole = batch.map((commit) => this.#withheld.addTo(commit));
    try {
      return this.#outcomes(whole, await this.#run(whole), []);
    } catch (error) {
      if (!isDataError(error)) throw error;
      const offending = await findOffendingRows(whole, (parts) => this.#tryOut(parts));
      // The refusal is not about a change, so it is a bug of this program, and no part of the batch may be applied.
      if (offending.length === 0) throw error;
      return this.#outcomes(whole, await this.#run(whole.map((commit) => without(commit, offending))), offending);
    }
  }

  /**
   * Writes a batch. Created occurrences wait for unique keys as submits do; a transaction that lost a deadlock has
   * changed nothing and runs again.
   */
  #run(batch: readonly ShardCommit[]): Promise<CommitAnswer> {
    return persistently(async () => {
      if (batch.some(({ steps }) => steps.length > 0)) await this.#levels.raise("DURABLE_STEPS");
      if (batch.some(({ runs, births }) => runs.length + births.length > 0)) await this.#levels.raise("WORKFLOWS");
      const spawns = batch.some(({ changes }) => changes.some(({ spawn }) => spawn !== undefined));
      if (spawns) await this.#levels.raise("SPAWNED_NODES");
      if (batch.some(isTelling)) await this.#levels.raise("EVENTS");
      const statement = commitStatement(batch, this.#now());
      return commitAnswer(await this.#db.run("commit", statement, this.#connectionOf(batch)));
    });
  }

  /**
   * @returns number of the connection; null: this process has taken over none of the shards; 0, which no connection
   * has: the shards were taken over on several connections
   */
  #connectionOf(batch: readonly ShardCommit[]): number | null {
    const connections = new Set(batch.flatMap(({ shard }) => this.#takenOn.get(shard) ?? []));
    const [connection = null] = connections;
    return connections.size > 1 ? 0 : connection;
  }

  /**
   * Tests parts of a shard's changes and rolls them back, because the changes of a shard must not be applied in two
   * steps. A refusal leaves the session as a value, because an error would close the connection and so lose the
   * takeover.
   */
  async #tryOut(parts: readonly ShardCommit[]): Promise<void> {
    const statement = commitStatement(parts, this.#now());
    const refusal = await this.#db.session("commit", async (session) => {
      await session.run({ text: "BEGIN" });
      const refused = await session.run(statement).then(() => null, refusalOf);
      await session.run({ text: "ROLLBACK" });
      return refused;
    });
    if (refusal !== null) throw storeError(refusal);
  }

  #outcomes(batch: readonly ShardCommit[], answer: CommitAnswer, offending: readonly OffendingRow[]): ShardOutcome[] {
    return batch.map((commit) => {
      const { shard } = commit;
      if (!answer.held.has(shard)) return { shard, status: "FENCED", ...NOTHING };
      const own = offending.filter((offending) => offending.shard === shard);
      // An execution that could not be created has no attempt in a journal.
      const changed = own.filter(({ part }) => !("row" in part));
      this.#withheld.applied(
        commit,
        changed.map(({ id }) => id),
      );
      return {
        shard,
        status: "APPLIED",
        missed: answer.missed.size === 0 ? [] : missedOf(commit, answer.missed),
        missedPlans: among(answer.missedPlans, commit, ({ jobId }) => [jobId]),
        notCreated: among(answer.notCreated, commit, ({ created }) => created.map(({ row }) => row.id)),
        missedRuns: commit.runs.map(({ run }) => run).filter((run) => answer.missedRuns.has(run)),
        notBorn: notBornOf(commit, answer, own),
        ...(answer.added.length > 0 && { added: addedCommands(commit.commands, answer.added) }),
        refused: own.map(({ id, message }) => ({ id, message })),
      };
    });
  }
}

const NOTHING = { missed: [], missedPlans: [], notCreated: [], missedRuns: [], notBorn: [], refused: [] };

/** @throws an error that is no refusal */
function refusalOf(error: unknown): unknown {
  if (!isRefusal(error)) throw error;
  return error;
}

/** Ids among `all` that belong to one shard. */
function among(all: ReadonlySet<string>, { plans }: ShardCommit, idsOf: (plan: PlanChange) => string[]): string[] {
  return all.size === 0 ? [] : plans.flatMap(idsOf).filter((id) => all.has(id));
}

function missedOf(commit: ShardCommit, missed: ReadonlySet<string>): string[] {
  const ids = new Set([...commit.changes, ...commit.expected].map((item) => item.id));
  return [...ids].filter((id) => missed.has(id));
}

/** Executions of nodes that were not created, without those that the store refuses. */
function notBornOf(commit: ShardCommit, answer: CommitAnswer, offending: readonly OffendingRow[]): string[] {
  const written = new Set(without(commit, offending).births);
  const refused = new Set(offending.map(({ part }) => part));
  const missing = commit.births.filter((birth) => !written.has(birth) || answer.notBorn.has(birth.row.id));
  return missing.filter((birth) => !refused.has(birth)).map(({ row }) => row.id);
}

function weightOf(commit: ShardCommit): ChunkLimit {
  let bytes = toldBytes(commit) + deliveredBytes(commit);
  let count = 1;
  for (const change of commit.changes) bytes += (change.result?.length ?? 0) + spawnedBytes(change);
  for (const plan of commit.plans) count += plan.created.length;
  for (const step of commit.steps) bytes += step.data?.length ?? 0;
  count += commit.steps.length + commit.births.length + commit.commands.length;
  return { count, bytes };
}
