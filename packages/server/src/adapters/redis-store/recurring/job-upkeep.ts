import { type EpochMs, firstExecutionId, type JobId, type ShardId } from "../../../domain/ids.ts";
import { isRecurringJobId } from "../../../domain/recurrence.ts";
import { payloadName } from "../bodies.ts";
import { behind, idBytes, idOf, instantBytes, u32 } from "../bytes.ts";
import { Kinds } from "../kinds.ts";
import { readRows } from "../owner-reads.ts";
import type { RedisAnswer, RedisArgument, RedisConnection } from "../redis-connection.ts";
import { keyOf, readJobs, type StoredJob } from "./job-rows.ts";

/** Jobs, members and commands of one call. */
const PER_CALL = 100;
const MEMBERS = 500;

/** Calls a function of upkeep, and then pauses. */
type Call = (name: string, args: readonly (string | Buffer)[]) => Promise<RedisAnswer>;

/**
 * Upkeep of jobs: forgets skipped instants that ended before `keepFrom`, payloads of former versions that nothing runs by, and recurring jobs
 * that were deleted before `keepFrom` and have no execution. A job that an open command is about stays as it is.
 */
export async function keepJobs(db: RedisConnection, call: Call, keepFrom: EpochMs): Promise<void> {
  await forgetSkips(db, "jr", keepFrom);
  await forgetSkips(db, "jd", keepFrom);
  await forgetDeleted(db, call, keepFrom);
  await forgetPayloads(db);
}

async function forgetSkips(db: RedisConnection, index: "jr" | "jd", keepFrom: EpochMs): Promise<void> {
  for (let from = 0; ; from += PER_CALL) {
    const [ids] = await db.call([["ZRANGE", db.key(index), `${from}`, `${from + PER_CALL - 1}`]]);
    for (let jobs = (ids as Buffer[]).map((id) => idOf(id)); jobs.length > 0; )
      jobs = await forgetSkipsOf(db, jobs, keepFrom);
    if ((ids as Buffer[]).length < PER_CALL) return;
  }
}

/** @returns jobs that may have more */
async function forgetSkipsOf(db: RedisConnection, jobs: readonly JobId[], keepFrom: EpochMs): Promise<JobId[]> {
  const until = instantBytes(keepFrom);
  const keys = jobs.map((id) => db.key(keyOf("q", id)));
  const answers = await db.call(keys.map((key) => ["ZRANGE", key, "-", "+", "BYLEX", "LIMIT", "0", `${PER_CALL}`]));
  const old = answers.map((members) =>
    // Ranges do not overlap, so their ends have the order of their beginnings.
    (members as Buffer[]).filter((member) => Buffer.compare(member.subarray(6, 12), until) < 0),
  );
  const removals = keys.flatMap((key, i) => {
    const members = old[i] as Buffer[];
    return members.length === 0 ? [] : [["ZREM", key, ...members] as [string, ...RedisArgument[]]];
  });
  await db.call(removals);
  return jobs.filter((_, i) => (old[i] as Buffer[]).length === PER_CALL);
}

async function forgetDeleted(db: RedisConnection, call: Call, keepFrom: EpochMs): Promise<void> {
  const kinds = new Kinds(db);
  for (let from = 0; ; ) {
    const [answer] = await db.call([
      ["ZRANGE", db.key("jd"), "-inf", `(${Math.floor(keepFrom)}`, "BYSCORE", "LIMIT", `${from}`, `${PER_CALL}`],
    ]);
    const ids = (answer as Buffer[]).map((id) => idOf(id));
    const jobs = (await readJobs(db, kinds, ids)).flatMap((job) => job ?? []);
    const busy = await jobsOfCommands(db, new Set(jobs.map(({ shard }) => shard)));
    const idle = jobs.filter(({ jobId }) => !busy.has(jobId));
    await call(
      "ms_forget_recurring",
      idle.flatMap(({ jobId, tenant }) => [idBytes(jobId), tenant]),
    );
    if (ids.length < PER_CALL) return;
    const [left] = await db.call([["ZMSCORE", db.key("jd"), ...ids.map(idBytes)]]);
    from += (left as unknown[]).filter((score) => score !== null).length;
  }
}

/** Jobs that open commands of the shards are about. */
async function jobsOfCommands(db: RedisConnection, shards: ReadonlySet<ShardId>): Promise<Set<JobId>> {
  const found = new Set<JobId>();
  for (const shard of shards) {
    let cursor = "0";
    do {
      const [answer] = await db.call([["HSCAN", db.key(`c${shard}`), cursor, "COUNT", `${MEMBERS}`]]);
      const [next, fields] = answer as [Buffer, Buffer[]];
      for (const [i, text] of fields.entries()) {
        const { jobId } = i % 2 === 0 ? {} : (JSON.parse(String(text)) as { jobId?: JobId });
        if (jobId !== undefined) found.add(jobId);
      }
      cursor = String(next);
    } while (cursor !== "0");
  }
  return found;
}

async function forgetPayloads(db: RedisConnection): Promise<void> {
  const kinds = new Kinds(db);
  const [answer] = await db.call([["SMEMBERS", db.key("pvj")]]);
  const ids = (answer as Buffer[]).map((id) => idOf(id));
  for (let from = 0; from < ids.length; from += PER_CALL) {
    const jobs = (await readJobs(db, kinds, ids.slice(from, from + PER_CALL))).flatMap((job) => job ?? []);
    const busy = await jobsOfCommands(db, new Set(jobs.map(({ shard }) => shard)));
    // A version comes from a command or a plan to an execution. So the commands and plans are read before the executions.
    for (const job of jobs) if (!busy.has(job.jobId)) await forgetPayloadsOf(db, job);
  }
}

async function forgetPayloadsOf(db: RedisConnection, job: StoredJob): Promise<void> {
  const [members] = await db.call([["SMEMBERS", db.key(keyOf("pv", job.jobId))]]);
  const versions = (members as Buffer[]).map((member) => member.readUInt32BE());
  const first = job.plan === null ? job.version : Math.min(job.version, job.plan.plan.version);
  const used = versions.some((version) => version < first) ? await versionsOf(db, job.jobId) : new Set<number>();
  const gone = versions.filter((version) => version < first && !used.has(version));
  const kept = versions.length - gone.length;
  if (gone.length > 0)
    await db.call([
      ["UNLINK", ...gone.map((version) => db.key(payloadName(job.jobId, version)))],
      ["SREM", db.key(keyOf("pv", job.jobId)), ...gone.map(u32)],
    ]);
  if (kept === 0 || (kept === 1 && versions.includes(job.version)))
    await db.call([["SREM", db.key("pvj"), idBytes(job.jobId)]]);
}

/** Versions by which executions of a job run or ran. */
async function versionsOf(db: RedisConnection, jobId: JobId): Promise<Set<number>> {
  const used = new Set<number>();
  const add = async (ids: readonly string[]) => {
    for (const row of await readRows(db, ids)) if (row !== null) used.add(row.jobVersion);
  };
  if (!isRecurringJobId(jobId)) await add([firstExecutionId(jobId)]);
  for (const letter of ["l", "lm"])
    for (let from: Buffer | "-" = "-"; ; ) {
      const [answer] = await db.call([
        ["ZRANGE", db.key(keyOf(letter, jobId)), from, "+", "BYLEX", "LIMIT", "0", `${MEMBERS}`],
      ]);
      const members = answer as Buffer[];
      await add(members.map((member) => idOf(member, 6)));
      if (members.length < MEMBERS) break;
      from = behind(members.at(-1) as Buffer);
    }
  return used;
}
