import { type Flow, flowName } from "../../../domain/flow.ts";
import type { EpochMs, ExecutionId, JobId, ShardId } from "../../../domain/ids.ts";
import type { FlowPage } from "../../../ports/store-flows.ts";
import type { Recurrence, StoreRecurrences } from "../../../ports/store-recurrences.ts";
import { behind, idBytes, idOf, instantAt, instantBytes } from "../bytes.ts";
import type { Kinds } from "../kinds.ts";
import { readRows } from "../owner-reads.ts";
import type { RedisArgument, RedisConnection } from "../redis-connection.ts";
import { DueLine, type DueMember, dueFlowNumbers, earliestDue, fill } from "./due-lines.ts";
import { keyOf, readJobs, type StoredJob } from "./job-rows.ts";

/** Indexes of one call, and members of one index in it. */
const INDEXES = 64;
const MEMBERS = 500;

/** See StoreRecurrences. */
export function recurrences(db: RedisConnection, kinds: Kinds): StoreRecurrences {
  const reads = new Recurrences(db, kinds);
  return {
    readDue: (...asked) => reads.readDue(...asked),
    dueFlows: (...asked) => reads.dueFlows(...asked),
    readDueFlows: (...asked) => reads.readDueFlows(...asked),
    readAwaiting: (...asked) => reads.readAwaiting(...asked),
    readOtherZones: (...asked) => reads.readOtherZones(...asked),
    load: (jobIds) => reads.load(jobIds),
    firedInstants: (...asked) => reads.firedInstants(...asked),
  };
}

class Recurrences implements StoreRecurrences {
  readonly #db: RedisConnection;
  readonly #kinds: Kinds;

  constructor(db: RedisConnection, kinds: Kinds) {
    this.#db = db;
    this.#kinds = kinds;
  }

  /** Merges the flows, and reads on only in those whose plans are the earliest. */
  async readDue(shards: readonly ShardId[], until: EpochMs, limit: number): Promise<Recurrence[]> {
    const flows = await dueFlowNumbers(this.#db, until);
    return await this.#due(await earliestDue(this.#db, flows, { until, own: new Set(shards), limit }), until);
  }

  async dueFlows(until: EpochMs, after: Flow | null, limit: number): Promise<Flow[]> {
    const flows = await this.#kinds.flowsOf(await dueFlowNumbers(this.#db, until));
    const found = [...flows.values()].map(({ tenant, pool }) => ({ tenant, pool }));
    const behind = found.filter((flow) => after === null || flowName(flow) > flowName(after));
    return behind.sort((a, b) => (flowName(a) < flowName(b) ? -1 : 1)).slice(0, limit);
  }

  async readDueFlows(
    shards: readonly ShardId[],
    until: EpochMs,
    pages: readonly FlowPage[],
    limit: number,
  ): Promise<Recurrence[][]> {
    const numbers = await this.#kinds.knownFlows(pages.map(({ flow }) => flow));
    const own = new Set(shards);
    const lines = pages.map(({ after }, i) => {
      const number = numbers[i];
      return number == null ? null : new DueLine(number, until, after);
    });
    const open = () => lines.filter((line) => line?.hasMore && line.members.length < limit) as DueLine[];
    while (open().length > 0) await fill(this.#db, open(), limit, own);
    const found: Recurrence[][] = [];
    for (const line of lines) found.push(await this.#due(line?.members.slice(0, limit) ?? [], until));
    return found;
  }

  async readAwaiting(shards: readonly ShardId[], after: JobId | null, limit: number): Promise<Recurrence[]> {
    return await this.load(
      await this.#firstIds(
        shards.map((shard) => this.#db.key(`pa${shard}`)),
        after,
        limit,
      ),
    );
  }

  async readOtherZones(
    shards: readonly ShardId[],
    tzdata: string,
    after: JobId | null,
    limit: number,
  ): Promise<Recurrence[]> {
    const [answer] = await this.#db.call([["SMEMBERS", this.#db.key("pzv")]]);
    const others = (answer as Buffer[]).map(String).filter((version) => version !== tzdata);
    const indexes = others.flatMap((version) => shards.map((shard) => this.#db.key(`pz${shard}:${version}`)));
    return await this.load(await this.#firstIds(indexes, after, limit));
  }

  async load(jobIds: readonly JobId[]): Promise<Recurrence[]> {
    const jobs = await readJobs(this.#db, this.#kinds, [...new Set(jobIds)]);
    return await this.#withOpen(jobs.flatMap((job) => job ?? []));
  }

  async firedInstants(jobId: JobId, since: EpochMs, until: EpochMs): Promise<EpochMs[]> {
    const found: EpochMs[] = [];
    for (let from: Buffer = Buffer.concat([Buffer.from("["), instantBytes(Math.ceil(since))]); ; ) {
      const members = await plannedMembers(this.#db, jobId, { from, before: until, limit: MEMBERS });
      found.push(...members.map((member) => instantAt(member, 0) as EpochMs));
      if (members.length < MEMBERS) return found;
      from = behind(members.at(-1) as Buffer);
    }
  }

  /** Ids of the first jobs behind `after` in indexes of ids. */
  async #firstIds(indexes: readonly RedisArgument[], after: JobId | null, limit: number): Promise<JobId[]> {
    const from = after === null ? "-" : behind(idBytes(after));
    const ids: JobId[] = [];
    for (let at = 0; at < indexes.length; at += INDEXES) {
      const part = indexes.slice(at, at + INDEXES);
      const answers = await this.#db.call(
        part.map((index) => ["ZRANGE", index, from, "+", "BYLEX", "LIMIT", "0", `${limit}`]),
      );
      ids.push(...answers.flatMap((members) => (members as Buffer[]).map((member) => idOf(member))));
      ids.sort().splice(limit);
    }
    return ids;
  }

  /** Plans of members, without those that have moved on since. */
  async #due(members: readonly DueMember[], until: EpochMs): Promise<Recurrence[]> {
    const found = await this.load(members.map(({ id }) => id));
    return found.filter(({ plan }) => plan.state === "ACTIVE" && plan.nextFireAt !== null && plan.nextFireAt <= until);
  }

  async #withOpen(jobs: readonly StoredJob[]): Promise<Recurrence[]> {
    const asked = new Set(jobs.flatMap(mayBeOpen));
    const rows = await readRows(this.#db, [...asked]);
    const open = new Set(rows.flatMap((row) => (row === null || row.isFinal ? [] : [row.id])));
    return jobs.flatMap((job) => recurrenceOf(job, open));
  }
}

function recurrenceOf(job: StoredJob, open: ReadonlySet<ExecutionId>): Recurrence[] {
  const { jobId, tenant, createdAt, version, definition, payload, plan: stored } = job;
  if (stored === null) return [];
  const { shard, revision, plan } = stored;
  const payloadBytes = typeof payload === "number" ? payload : 0;
  const own = [...new Set(mayBeOpen(job))].filter((id) => open.has(id));
  return [{ jobId, shard, tenant, createdAt, version, definition, payloadBytes, revision, plan, open: own }];
}

function mayBeOpen({ plan: stored }: StoredJob): ExecutionId[] {
  if (stored === null) return [];
  const { previous, catchUps } = stored.plan;
  return [...(previous === null ? [] : [previous]), ...catchUps.flatMap(({ open }) => open)];
}

/** Members of the executions of planned instants, ascending from a bound; each has the instant and the id. */
async function plannedMembers(
  db: RedisConnection,
  jobId: JobId,
  { from, before, limit }: { from: Buffer; before: EpochMs; limit: number },
): Promise<Buffer[]> {
  const upper = behind(instantBytes(Math.ceil(before)));
  const [members] = await db.call([
    ["ZRANGE", db.key(keyOf("l", jobId)), from, upper, "BYLEX", "LIMIT", "0", `${limit}`],
  ]);
  return members as Buffer[];
}
