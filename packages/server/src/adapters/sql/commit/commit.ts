import type { ShardId } from "../../../domain/ids.ts";
import type { ShardCommit, ShardOutcome } from "../../../ports/store.ts";
import type { PlanChange } from "../../../ports/store-recurrences.ts";
import type { Connections } from "../connection/connections.ts";
import { isDataError, isRefusal, storeError } from "../connection/errors.ts";
import { type PackLimit, packed } from "../connection/packs.ts";
import { persistently } from "../connection/persistently.ts";
import { type CommitAnswer, commitAnswer, commitStatement } from "./commit-statement.ts";
import { type Culprit, findCulprits, without } from "./culprits.ts";
import { WithheldJournals } from "./withheld-journals.ts";

/**
 * A tick is one statement, unless it brings very many large results or births: PostgreSQL takes no message of a gigabyte, nor
 * so many rows within its time, and would not at the next attempt either. Shards are never cut.
 */
const STATEMENT: PackLimit = { count: 10_000, bytes: 32 * 1024 * 1024 };

/** Writes ticks, one at a time: there is one connection for it. See Store.commit. */
export class Committer {
  readonly #db: Connections;
  readonly #now: () => number;
  readonly #withheld = new WithheldJournals();
  /** Number of the connection that each shard was taken over on. */
  readonly #takenOn = new Map<ShardId, number>();

  constructor(db: Connections, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  async commit(batch: readonly ShardCommit[]): Promise<ShardOutcome[]> {
    const outcomes: ShardOutcome[] = [];
    for (const part of packed(batch, STATEMENT, weightOf)) outcomes.push(...(await this.#commitPart(part)));
    return outcomes;
  }

  /** Rows withheld from the former owner are open in the journal, where the new owner finds them. */
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
      const culprits = await findCulprits(whole, (parts) => this.#tryOut(parts));
      // Refused for something else than a change: that is a mistake of ours, and no part of it may be applied.
      if (culprits.length === 0) throw error;
      return this.#outcomes(whole, await this.#run(whole.map((commit) => without(commit, culprits))), culprits);
    }
  }

  /** Births wait for unique keys as submits do: whoever stood in somebody's way has done nothing, and goes again. */
  #run(batch: readonly ShardCommit[]): Promise<CommitAnswer> {
    return persistently(async () => {
      const statement = commitStatement(batch, this.#now());
      return commitAnswer(await this.#db.run("commit", statement, this.#connectionOf(batch)));
    });
  }

  /** @returns null: this process has taken over none of the shards; 0, which no connection has: on several connections */
  #connectionOf(batch: readonly ShardCommit[]): number | null {
    const connections = new Set(batch.flatMap(({ shard }) => this.#takenOn.get(shard) ?? []));
    const [connection = null] = connections;
    return connections.size > 1 ? 0 : connection;
  }

  /**
   * A shard's changes must not be applied in two steps, so parts of them are only tried. A refusal is handed out of the
   * session as a value, because an error would end the connection, and the takeover with it.
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

  #outcomes(batch: readonly ShardCommit[], answer: CommitAnswer, culprits: readonly Culprit[]): ShardOutcome[] {
    return batch.map((commit) => {
      const { shard } = commit;
      if (!answer.held.has(shard))
        return { shard, status: "FENCED", missed: [], missedPlans: [], notBorn: [], refused: [] };
      const own = culprits.filter((culprit) => culprit.shard === shard);
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
        notBorn: among(answer.notBorn, commit, ({ births }) => births.map(({ row }) => row.id)),
        refused: own.map(({ id, message }) => ({ id, message })),
      };
    });
  }
}

/** @throws what is no refusal */
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

function weightOf(commit: ShardCommit): PackLimit {
  let bytes = 0;
  let count = 1;
  for (const change of commit.changes) bytes += change.result?.length ?? 0;
  for (const plan of commit.plans) count += plan.births.length;
  return { count, bytes };
}
