import type { JobId } from "../../../domain/ids.ts";
import { shardKey, shardOf } from "../../../domain/ids.ts";
import { isRecurringJobId } from "../../../domain/recurrence.ts";
import { type MovedJob, SMALL_PAYLOAD_MAX, type TransferRows } from "../../../ports/store-transfer.ts";
import { payloadName, readBodies } from "../bodies.ts";
import { ID_BYTES, INSTANT_MAX, idBytes, idOf, u32 } from "../bytes.ts";
import { flowText } from "../kinds.ts";
import { skipBytes, skipOf } from "../recurring/commit-plans.ts";
import { nameText, payloadOf } from "../recurring/job-changes.ts";
import { keyOf, readJobs, rowText, type StoredJob } from "../recurring/job-rows.ts";
import { planRecord, storedPlan, TAG_BYTES_MAX } from "../recurring/plan-record.ts";
import type { RedisCommand, RedisConnection } from "../redis-connection.ts";
import { fill, type KindInRedis, send } from "./kind.ts";
import { membersIn, namesOf } from "./scan.ts";

/** Jobs of one portion, which may each have a payload of 1 MiB. */
const JOBS = 100;
/** Version whose payload goes with its job, whether it is noted or not. */
const FIRST_VERSION = 1;

export const jobs: KindInRedis<"jobs"> = {
  rows: async function* ({ db, kinds }) {
    for await (const ids of jobIds(db))
      for (let from = 0; from < ids.length; from += JOBS) {
        const found = (await readJobs(db, kinds, ids.slice(from, from + JOBS))).filter((job) => job !== null);
        const rows: MovedJob[] = [];
        for (const job of found) rows.push(await movedJob(db, job));
        if (rows.length > 0) yield rows;
      }
  },
  write: async ({ db }, rows) => {
    await send(
      db,
      rows.flatMap((row) => bodyCommands(db, row)),
    );
    await fill(
      db,
      "ms_fill_jobs",
      rows.map((row) => {
        const { jobId, tenant, deletedAt, name } = row;
        const text = rowText(storedJob(row), isBody(row) ? (row.payload?.length ?? null) : asBuffer(row.payload));
        const listed = name === null || isRecurringJobId(jobId) ? "" : nameText(tenant, name);
        return [idBytes(jobId), text, tenant, deletedAt === null ? "" : `${deletedAt}`, listed];
      }),
    );
  },
  unfit: ({ createdAt, updatedAt, scheduledAt, policy }) =>
    unfitInstant(createdAt, updatedAt, scheduledAt, policy.startBefore),
};

async function movedJob(db: RedisConnection, job: StoredJob): Promise<MovedJob> {
  const { jobId, tenant, version, createdAt, updatedAt, deletedAt, definition, nested } = job;
  return {
    ...{ jobId, tenant, version, createdAt, updatedAt, deletedAt, ...definition },
    ...{ payload: await payloadOf(db, job), nested: nested === undefined ? null : [...nested].sort() },
  };
}

/** Ids of all jobs: those that run once by the seconds of their ids, then those that recur. */
async function* jobIds(db: RedisConnection): AsyncGenerator<JobId[]> {
  const [tenants] = (await db.call([["SMEMBERS", db.key("xt")]])) as [Buffer[]];
  for (const tenant of tenants.map(String)) {
    const [seconds] = (await db.call([["ZRANGE", db.key(`xb${tenant}`), "0", "-1"]])) as [Buffer[]];
    for (const second of seconds.map(String)) {
      const [all] = (await db.call([["GET", db.key(`x${tenant}:${second}`)]])) as [Buffer | null];
      if (all !== null) yield Array.from({ length: all.length / ID_BYTES }, (_, i) => idOf(all, i * ID_BYTES));
    }
  }
  yield* recurringIds(db);
}

/** Ids of jobs that recur, also of deleted ones. */
async function* recurringIds(db: RedisConnection): AsyncGenerator<JobId[]> {
  for await (const ids of membersIn(db, "jr")) yield ids.map((id) => idOf(id));
  const [deleted] = (await db.call([["ZRANGE", db.key("jd"), "0", "-1"]])) as [Buffer[]];
  if (deleted.length > 0) yield deleted.map((id) => idOf(id));
}

function storedJob(row: MovedJob) {
  const { jobId, tenant, version, createdAt, updatedAt, deletedAt, payload: _, nested, ...definition } = row;
  const shard = shardOf(shardKey(tenant, row.concurrencyKey, jobId));
  return { ...{ tenant, shard, version, createdAt, updatedAt, deletedAt, definition }, nested: nested ?? undefined };
}

/** Whether the payload of a job is a key of its own: only jobs that run once have it in their rows, if it is small. */
function isBody({ jobId, nested, payload }: MovedJob): boolean {
  return isRecurringJobId(jobId) || nested !== null || (payload?.length ?? 0) > SMALL_PAYLOAD_MAX;
}

function asBuffer(payload: Uint8Array | null): Buffer | null {
  return payload === null ? null : Buffer.from(payload);
}

function bodyCommands(db: RedisConnection, row: MovedJob): RedisCommand[] {
  const { jobId, version, payload } = row;
  if (payload === null || !isBody(row)) return [];
  const [own, ...note] = payloadCommands(db, { jobId, version, payload });
  return version === FIRST_VERSION ? [own] : [own, ...note];
}

function payloadCommands(
  db: RedisConnection,
  { jobId, version, payload }: TransferRows["payloads"],
): [own: RedisCommand, ...note: RedisCommand[]] {
  const own: RedisCommand = ["SET", db.key(payloadName(jobId, version)), Buffer.from(payload)];
  return [own, ...noted(db, { jobId, version })];
}

/** Payloads of former versions. Small ones of jobs that run once are in the executions that have them. */
export const payloads: KindInRedis<"payloads"> = {
  rows: async function* ({ db, kinds }) {
    for await (const names of namesOf(db, `b${"?".repeat(ID_BYTES)}p????`, "string")) {
      const found = names.map((name) => ({ name, jobId: idOf(name, 1), version: name.readUInt32BE(2 + ID_BYTES) }));
      const owners = await readJobs(
        db,
        kinds,
        found.map(({ jobId }) => jobId),
      );
      for (const [i, { name, jobId, version }] of found.entries()) {
        const owner = owners[i];
        const [payload] = owner == null || owner.version === version ? [null] : await readBodies(db, [name]);
        if (payload != null) yield [{ jobId, version, payload }];
      }
    }
  },
  write: ({ db }, rows) =>
    send(
      db,
      rows.flatMap((row) => payloadCommands(db, row)),
    ),
};

/** Notes a former version, so that upkeep removes its payload. */
function noted(
  db: RedisConnection,
  { jobId, version }: Pick<TransferRows["payloads"], "jobId" | "version">,
): RedisCommand[] {
  return [
    ["SADD", db.key(keyOf("pv", jobId)), u32(version)],
    ["SADD", db.key("pvj"), idBytes(jobId)],
  ];
}

export const plans: KindInRedis<"plans"> = {
  rows: async function* ({ db, kinds }) {
    for await (const ids of recurringIds(db)) {
      const [texts] = (await db.call([["MGET", ...ids.map((id) => db.key(keyOf("p", id)))]])) as [(Buffer | null)[]];
      const found = ids.flatMap((jobId, i) => (texts[i] == null ? [] : [{ jobId, ...storedPlan(texts[i] as Buffer) }]));
      const flows = await kinds.flowsOf(found.map(({ flow }) => flow));
      const rows = found.map(({ jobId, revision, shard, flow, plan }) => {
        const { tenant, pool } = flows.get(flow) as { tenant: string; pool: string };
        return { ...plan, jobId, revision, shard, tenant, pool };
      });
      if (rows.length > 0) yield rows;
    }
  },
  write: async ({ db, kinds }, rows) => {
    const flows = await kinds.numbersOf(rows.map(flowText));
    const args = rows.map(({ jobId, revision, shard, tenant: _tenant, pool: _pool, ...plan }, i) => {
      return [idBytes(jobId), planRecord({ revision, shard, flow: flows[i] as number, plan })];
    });
    await fill(db, "ms_fill_plans", args);
  },
  unfit: ({ tzdata, nextFireAt, bufferedAt }) => {
    const bytes = Buffer.byteLength(tzdata);
    if (bytes > TAG_BYTES_MAX) return `tzdata has ${bytes} bytes, and at most ${TAG_BYTES_MAX} are possible`;
    return unfitInstant(nextFireAt, bufferedAt);
  },
};

export const skips: KindInRedis<"skips"> = {
  rows: async function* ({ db }) {
    for await (const ids of recurringIds(db))
      for (const jobId of ids)
        for await (const members of membersIn(db, keyOf("q", jobId)))
          yield members.map((member) => ({ jobId, ...skipOf(member) }));
  },
  write: ({ db }, rows) =>
    send(
      db,
      rows.map(({ jobId, ...skip }) => ["ZADD", db.key(keyOf("q", jobId)), "0", skipBytes(skip)]),
    ),
  unfit: ({ from, to }) => unfitInstant(from, to),
};

/** @returns reason why a record cannot have one of the instants; null: it can */
export function unfitInstant(...instants: readonly (number | null)[]): string | null {
  const beyond = instants.find((instant) => instant !== null && (instant < 0 || instant > INSTANT_MAX));
  return beyond === undefined ? null : `${beyond} is no time from 0 to ${INSTANT_MAX} ms`;
}
