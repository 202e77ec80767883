import type { ExecutionId, ShardId } from "../../domain/ids.ts";
import { chunked } from "../../ports/chunks.ts";
import { unstorableChange } from "../../ports/storable.ts";
import type { JournalRef, RowChange, ShardCommit, ShardOutcome } from "../../ports/store.ts";
import { StoreUnavailable } from "../../ports/store-errors.ts";
import { WithheldJournals } from "../../ports/withheld-journals.ts";
import { type Body, resultName, writeBodies } from "./bodies.ts";
import { ID_BYTES, INSTANT_MAX, idBytes, idOf, u32, writeInstant, writeRank } from "./bytes.ts";
import { toldByCommit, toldWeight, withoutTold } from "./events/told-arguments.ts";
import { stepArguments, stepWeight } from "./intake/steps.ts";
import type { Kinds } from "./kinds.ts";
import { isInline, queueCode, stateCode, stepsCode } from "./record.ts";
import { type PackedPlans, packedPlans, refusedOccurrences, withoutOccurrences } from "./recurring/commit-plans.ts";
import { restOfChange } from "./recurring/later-record.ts";
import type { RedisArgument, RedisConnection } from "./redis-connection.ts";
import { addedCommands, refusedBirths, runArguments, runsWeight, spawnedBodies } from "./runs/commit-runs.ts";

/** Limit of one call. The changes of one shard always stay together. */
const CALL = { count: 500, bytes: 4 * 1024 * 1024 };
/** Bytes of the fixed fields of a change. */
const FIXED_BYTES = 75;
/** Value of the steps of a change that keeps those of the row. */
const KEEP = 0xff;

const NOTHING = { missed: [], missedPlans: [], notCreated: [], missedRuns: [], notBorn: [], refused: [] };

type Six<T> = [T, T, T, T, T, T];

interface Refused {
  id: ExecutionId;
  message: string;
}

/** Commits ticks. A takeover is valid while the connection that made it lasts. */
export class Committer {
  readonly #connection: RedisConnection;
  readonly #kinds: Kinds;
  readonly #now: () => number;
  readonly #withheld = new WithheldJournals();
  /** Number of the connection on which each shard was taken over. */
  readonly #takenOn = new Map<ShardId, number>();

  constructor(connection: RedisConnection, kinds: Kinds, now: () => number) {
    this.#connection = connection;
    this.#kinds = kinds;
    this.#now = now;
  }

  tookOver(shards: readonly ShardId[], connection: number): void {
    this.#withheld.forget(shards);
    for (const shard of shards) this.#takenOn.set(shard, connection);
  }

  /** @returns whether shards were taken over on this connection */
  tookOverOn(connection: number): boolean {
    return [...this.#takenOn.values()].includes(connection);
  }

  /** See Store.commit. */
  async commit(batch: readonly ShardCommit[]): Promise<ShardOutcome[]> {
    const outcomes: ShardOutcome[] = [];
    for (const part of chunked(batch, CALL, weightOf)) outcomes.push(...(await this.#commitPart(part)));
    return outcomes;
  }

  async #commitPart(batch: readonly ShardCommit[]): Promise<ShardOutcome[]> {
    const whole = batch.map((commit) => this.#withheld.addTo(commit));
    const refused = whole.map(refusalsOf);
    const storable = whole.map((commit, i) => without(commit, refused[i] as Refused[]));
    await writeBodies(this.#connection, storable.flatMap(bodiesOf), this.#now());
    const updatedAt = this.#now();
    const packed = await packedPlans(this.#connection, this.#kinds, storable, updatedAt);
    this.#checkConnection(batch);
    const args = storable.flatMap((commit) => argumentsOf(commit, packed, updatedAt));
    const answers = (await this.#connection.durably("ms_commit", args)) as Buffer[][];
    return whole.map((commit, i) => this.#outcome(commit, answers[i] as Buffer[], refused[i] as Refused[]));
  }

  #outcome(asked: ShardCommit, answer: readonly Buffer[], refused: Refused[]): ShardOutcome {
    const { shard } = asked;
    const [rows, missedPlans, notCreated, missedRuns, notBorn, shards] = answer as Six<Buffer>;
    if (rows[0] === "F".charCodeAt(0)) return { shard, status: "FENCED", ...NOTHING };
    this.#withheld.applied(
      asked,
      refused.map(({ id }) => id),
    );
    return {
      ...{ shard, status: "APPLIED", ...NOTHING, missed: [...new Set(idsOf(rows.subarray(1)))], refused },
      ...{ missedPlans: idsOf(missedPlans), notCreated: idsOf(notCreated) },
      ...{ missedRuns: idsOf(missedRuns), notBorn: idsOf(notBorn), ...addedCommands(asked, shards) },
    };
  }

  /** @throws {StoreUnavailable} the connection on which this process took over one of the shards has ended */
  #checkConnection(batch: readonly ShardCommit[]): void {
    const { number } = this.#connection;
    for (const { shard } of batch) {
      const taken = this.#takenOn.get(shard);
      if (taken !== undefined && taken !== number)
        throw new StoreUnavailable("the connection of the takeover to Redis has ended", { isUnasked: true });
    }
  }
}

function idsOf(bytes: Buffer): string[] {
  return Array.from({ length: bytes.length / ID_BYTES }, (_, i) => idOf(bytes, i * ID_BYTES));
}

function weightOf(commit: ShardCommit): { count: number; bytes: number } {
  const { changes, expected, assigned, settledJournals, plans } = commit;
  const [recorded, told, ofRuns] = [stepWeight(commit), toldWeight(commit), runsWeight(commit)];
  const bytes = changes.reduce((sum, { result }) => sum + (result !== null && isInline(result) ? result.length : 0), 0);
  const planned = plans.reduce((sum, { created, skips }) => sum + 1 + created.length + skips.length, 0);
  const count = changes.length + expected.length + assigned.length + settledJournals.length + planned;
  const more = [recorded, told, ofRuns];
  return more.reduce((sum, one) => ({ count: sum.count + one.count, bytes: sum.bytes + one.bytes }), { count, bytes });
}

function without(commit: ShardCommit, refused: readonly Refused[]): ShardCommit {
  if (refused.length === 0) return commit;
  const ids = new Set(refused.map(({ id }) => id));
  // The journal may be the only record of the attempt of a refused row.
  const steps = commit.steps.filter(({ executionId }) => !ids.has(executionId));
  const [changes, plans] = [commit.changes.filter(({ id }) => !ids.has(id)), withoutOccurrences(commit.plans, ids)];
  const births = commit.births.filter(({ row }) => !ids.has(row.id));
  return withoutTold({ ...commit, changes, plans, births, settledJournals: [], steps }, ids);
}

function refusalsOf(commit: ShardCommit): Refused[] {
  return [...commit.changes.flatMap(refusalOf), ...refusedOccurrences(commit), ...refusedBirths(commit)];
}

function refusalOf(change: RowChange): Refused[] {
  const { id, dueAt, attemptStartedAt, startedAt, finishedAt } = change;
  const instants = [dueAt, attemptStartedAt ?? 0, startedAt ?? 0, finishedAt ?? 0];
  const beyond = instants.find((instant) => instant < 0 || instant > INSTANT_MAX);
  const message = unstorableChange(change) ?? (beyond === undefined ? null : `${beyond} is no time of a record`);
  return message === null ? [] : [{ id, message }];
}

function bodiesOf(commit: ShardCommit): Body[] {
  const results = commit.changes.flatMap(({ id, attempt, result }) =>
    result === null || isInline(result) ? [] : [{ name: resultName(id, attempt), bytes: result }],
  );
  return [...results, ...spawnedBodies(commit)];
}

/** Arguments of one shard, as `read_shard` of the library takes them. */
function argumentsOf(commit: ShardCommit, packed: PackedPlans, updatedAt: number): RedisArgument[] {
  const { shard, epoch, expected, changes, assigned, journalSeq, settledJournals, commandsDone } = commit;
  const journal = assigned.length === 0 ? "" : journalField({ epoch, seq: journalSeq });
  return [
    ...[`${shard}`, `${epoch}`],
    Buffer.concat(expected.flatMap(({ id, attempt }) => [idBytes(id), u32(attempt)])),
    ...[`${changes.length}`, ...changes.flatMap((change) => changeArguments(change, packed, updatedAt))],
    ...[journal, assigned.length === 0 ? "" : JSON.stringify(assigned)],
    ...[`${settledJournals.length}`, ...settledJournals.map(journalField)],
    ...[`${commandsDone.length}`, ...commandsDone],
    ...packed.plansOf(commit),
    ...runArguments(commit, packed.numbersOf, updatedAt),
    ...stepArguments(commit),
    ...toldByCommit(commit, updatedAt),
  ];
}

function journalField({ epoch, seq }: JournalRef): string {
  return `${epoch}/${seq}`;
}

function changeArguments(change: RowChange, packed: PackedPlans, updatedAt: number): RedisArgument[] {
  const ended = change.ended.map((attempt) => JSON.stringify(attempt)).join(",");
  const { id, attempt, result } = change;
  const body = result === null || isInline(result) ? Buffer.alloc(0) : resultName(id, attempt);
  return [fixedFields(change, updatedAt), ended, restOfChange(change), body, packed.replacedBy(change)];
}

/** Fields of fixed places: the id, what the row must be, what it becomes. */
function fixedFields(change: RowChange, updatedAt: number): Buffer {
  const bytes = Buffer.alloc(FIXED_BYTES);
  idBytes(change.id).copy(bytes);
  bytes[16] = stateCode(change.wasState);
  bytes.writeUInt32BE(change.wasAttempt, 17);
  bytes[21] = stateCode(change.state);
  bytes.writeUInt32BE(change.attempt, 22);
  bytes[26] = queueCode(change.queue);
  writeRank(bytes, change.rank, 27);
  writeInstant(bytes, change.dueAt, 35);
  bytes.writeUInt32BE(change.failures, 41);
  bytes.writeUInt32BE(change.lost, 45);
  for (const [i, instant] of [change.attemptStartedAt, change.startedAt, change.finishedAt, updatedAt].entries())
    writeInstant(bytes, instant, 49 + 6 * i);
  bytes[73] = change.steps === undefined ? KEEP : stepsCode(change.steps);
  bytes[74] = change.releaseUniqueKey ? 1 : 0;
  return bytes;
}
