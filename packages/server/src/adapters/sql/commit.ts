import type { ShardId } from "../../domain/ids.ts";
import type { RowChange, ShardCommit, ShardOutcome } from "../../ports/store.ts";
import { bisected } from "./bisect.ts";
import { type CommitAnswer, commitAnswer, commitStatement } from "./commit-statement.ts";
import type { Connections } from "./connections.ts";
import { isDataError } from "./errors.ts";
import { type PackLimit, packed } from "./packs.ts";
import { WithheldJournals } from "./withheld-journals.ts";

/** A change that the store cannot hold, and what it said. */
interface Culprit {
  shard: ShardId;
  change: RowChange;
  message: string;
}

/**
 * A tick is one statement, unless it brings very many large results: PostgreSQL takes no message of a gigabyte,
 * and would not at the next attempt either. Shards are never cut.
 */
const STATEMENT: PackLimit = { count: Number.POSITIVE_INFINITY, bytes: 32 * 1024 * 1024 };

/** Writes ticks, one at a time: there is one connection for it. See Store.commit. */
export class Committer {
  readonly #db: Connections;
  readonly #now: () => number;
  readonly #withheld = new WithheldJournals();

  constructor(db: Connections, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  async commit(batch: readonly ShardCommit[]): Promise<ShardOutcome[]> {
    const outcomes: ShardOutcome[] = [];
    for (const part of packed(batch, STATEMENT, weightOf)) outcomes.push(...(await this.#commitPart(part)));
    return outcomes;
  }

  /** What was kept back for the owner before is open in the journal, where the new one finds it. */
  forget(shards: readonly ShardId[]): void {
    this.#withheld.forget(shards);
  }

  async #commitPart(batch: readonly ShardCommit[]): Promise<ShardOutcome[]> {
    const whole = batch.map((commit) => this.#withheld.addTo(commit));
    try {
      return this.#outcomes(whole, await this.#run(whole), []);
    } catch (error) {
      if (!isDataError(error)) throw error;
      const culprits = await this.#findCulprits(whole);
      // Refused for something else than a change: that is a mistake of ours, and no part of it may be applied.
      if (culprits.length === 0) throw error;
      return this.#outcomes(whole, await this.#run(whole.map((commit) => without(commit, culprits))), culprits);
    }
  }

  async #run(batch: readonly ShardCommit[]): Promise<CommitAnswer> {
    return commitAnswer(await this.#db.run("commit", commitStatement(batch, this.#now())));
  }

  /** Tries parts of the changes and takes each back: a shard's changes must not be applied in two steps. */
  async #findCulprits(batch: readonly ShardCommit[]): Promise<Culprit[]> {
    const changes = batch.flatMap((commit) => commit.changes.map((change) => ({ commit, change })));
    const found = await bisected<(typeof changes)[number], Culprit | null>(
      changes,
      async (some) => {
        const parts = batch.map((commit) => onlyChanges(commit, some));
        await this.#db.session("commit", async (session) => {
          await session.run({ text: "BEGIN" });
          await session.run(commitStatement(parts, this.#now()));
          await session.run({ text: "ROLLBACK" });
        });
        return some.map(() => null);
      },
      ({ commit, change }, error) => ({ shard: commit.shard, change, message: error.message }),
    );
    return found.filter((culprit) => culprit !== null);
  }

  #outcomes(batch: readonly ShardCommit[], answer: CommitAnswer, culprits: readonly Culprit[]): ShardOutcome[] {
    return batch.map((commit) => {
      const { shard } = commit;
      if (!answer.held.has(shard)) return { shard, status: "FENCED", missed: [], refused: [] };
      const own = culprits.filter((culprit) => culprit.shard === shard);
      this.#withheld.applied(
        commit,
        own.map((culprit) => culprit.change.id),
      );
      return {
        shard,
        status: "APPLIED",
        missed: answer.missed.size === 0 ? [] : missedOf(commit, answer.missed),
        refused: own.map(({ change, message }) => ({ id: change.id, message })),
      };
    });
  }
}

function onlyChanges(commit: ShardCommit, some: readonly { change: RowChange }[]): ShardCommit {
  const chosen = new Set(some.map(({ change }) => change));
  const changes = commit.changes.filter((change) => chosen.has(change));
  return { ...commit, changes, assigned: [], settledJournals: [], expected: [], commandsDone: [] };
}

/** Journals stay open where a row could not be written: they may be all that knows of its attempt. */
function without(commit: ShardCommit, culprits: readonly Culprit[]): ShardCommit {
  const own = new Set(culprits.filter(({ shard }) => shard === commit.shard).map(({ change }) => change));
  if (own.size === 0) return commit;
  return { ...commit, changes: commit.changes.filter((change) => !own.has(change)), settledJournals: [] };
}

function missedOf(commit: ShardCommit, missed: ReadonlySet<string>): string[] {
  const ids = new Set([...commit.changes, ...commit.expected].map((item) => item.id));
  return [...ids].filter((id) => missed.has(id));
}

function weightOf(commit: ShardCommit): PackLimit {
  let bytes = 0;
  for (const change of commit.changes) bytes += change.result?.length ?? 0;
  return { count: 1, bytes };
}
