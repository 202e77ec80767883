import { SHARD_COUNT } from "../../../domain/ids.ts";
import type { HandlerRow } from "../../../ports/handler-table.ts";
import type { Command } from "../../../ports/store-commands.ts";
import type { MovedIdempotencyKey, TransferRows } from "../../../ports/store-transfer.ts";
import { readRecords } from "../access/audit-log.ts";
import { writesOf as writesOfKey } from "../access/keys.ts";
import { readSources, readAll as readTenants, sourceField } from "../access/tenants.ts";
import { logs, partFrom } from "../attempt-logs.ts";
import { argumentsOf as argumentsOfRecord } from "../audit-trail.ts";
import { ID_BYTES, idBytes, idOf, u32, u64 } from "../bytes.ts";
import { rowName } from "../handlers.ts";
import { readPositions } from "../intake/ingest.ts";
import { uniqueField } from "../record.ts";
import type { RedisCommand, RedisConnection } from "../redis-connection.ts";
import { changeoverOf, readPools } from "../settings.ts";
import { readJournals } from "../shards.ts";
import { acceptedJobs, answerOf } from "../submit.ts";
import { type KindInRedis, put, send } from "./kind.ts";
import { fieldsIn, membersIn, namesOf } from "./scan.ts";

async function* once<R>(rows: R[]): AsyncGenerator<R[]> {
  if (rows.length > 0) yield rows;
}

/** Kind that the values of a hash have as JSON. */
async function* valuesOf<R>(db: RedisConnection, name: string): AsyncGenerator<R[]> {
  for await (const pairs of fieldsIn(db, name)) yield pairs.map(([, text]) => JSON.parse(String(text)) as R);
}

async function* later<R>(read: () => Promise<R[]>): AsyncGenerator<R[]> {
  yield* once(await read());
}

const tenants: KindInRedis<"tenants"> = {
  rows: ({ db }) => later(() => readTenants(db)),
  write: put("t", (row) => [row.name, JSON.stringify(row)]),
};

const sources: KindInRedis<"sources"> = {
  rows: ({ db }) => later(() => readSources(db)),
  write: put("ts", (row) => [sourceField(row), row.tenant]),
  unfit: ({ kind, name }) =>
    kind === "ROLE" ? `the role ${name} is bound to a tenant, and no role submits into Redis: unbind it first` : null,
};

const pools: KindInRedis<"pools"> = {
  rows: ({ db }) => later(() => readPools(db)),
  write: put("po", (row) => [row.name, JSON.stringify(row)]),
};

const keys: KindInRedis<"keys"> = {
  rows: async function* ({ db }) {
    for await (const rows of valuesOf<TransferRows["keys"]>(db, "ak")) {
      const [uses] = (await db.call([["HMGET", db.key("aku"), ...rows.map(({ id }) => id)]])) as [(Buffer | null)[]];
      yield rows.map((row, i) => ({ ...row, lastUsedAt: uses[i] == null ? null : Number(uses[i]) }));
    }
  },
  write: ({ db }, rows) =>
    send(
      db,
      rows.flatMap(({ lastUsedAt, ...key }): RedisCommand[] => [
        ...writesOfKey(key).map(([command, name, field, value]): RedisCommand => {
          return command === "ZADD" ? ["ZADD", db.key(name), value, field] : ["HSET", db.key(name), field, value];
        }),
        ...(lastUsedAt === null ? [] : [["HSET", db.key("aku"), key.id, `${lastUsedAt}`] as const]),
      ]),
    ),
};

const handlers: KindInRedis<"handlers"> = {
  rows: ({ db }) => valuesOf<HandlerRow>(db, "hp"),
  write: async ({ db, kinds }, rows) => {
    await put<HandlerRow>("hp", (row) => [rowName(row), JSON.stringify(row)])({ db, kinds }, rows);
    const [count] = await db.call([["HLEN", db.key("hp")]]);
    const latest = Math.max(...rows.map(({ version }) => version));
    await send(db, [["SET", db.key("hpv"), `${latest}-${Number(count)}`]]);
  },
};

const zones: KindInRedis<"zones"> = {
  rows: ({ db }) => valuesOf(db, "tzv"),
  write: put("tzv", (row) => [row.version, JSON.stringify(row)]),
};

const changeovers: KindInRedis<"changeovers"> = {
  rows: async function* ({ db }) {
    for await (const pairs of fieldsIn(db, "tzc"))
      yield pairs.map(([number, text]) => changeoverOf(String(number), String(text)));
  },
  write: put("tzc", ({ number, version, since }) => [`${number}`, `${since} ${version}`]),
};

const names: KindInRedis<"names"> = {
  rows: async function* ({ db }) {
    for await (const pairs of fieldsIn(db, "m"))
      yield pairs.map(([field, job]) => {
        const [tenant, name] = partsOf(field);
        return { tenant, name, jobId: idOf(job) };
      });
  },
  write: put("m", ({ tenant, name, jobId }) => [uniqueField(tenant, name), idBytes(jobId)]),
};

const uniqueKeys: KindInRedis<"uniqueKeys"> = {
  rows: async function* ({ db }) {
    for await (const pairs of fieldsIn(db, "u"))
      yield pairs.map(([field, ids]) => {
        const [tenant, key] = partsOf(field);
        return { tenant, key, jobId: idOf(ids), executionId: idOf(ids, ID_BYTES) };
      });
  },
  write: put("u", ({ tenant, key, jobId, executionId }) => [
    uniqueField(tenant, key),
    Buffer.concat([idBytes(jobId), idBytes(executionId)]),
  ]),
};

/** Tenant and key of a field of `uniqueField`. */
function partsOf(field: Buffer): [tenant: string, key: string] {
  const end = field.indexOf(0);
  return [field.toString("utf8", 0, end), field.toString("utf8", end + 1)];
}

const logLines: KindInRedis<"logs"> = {
  rows: async function* ({ db }) {
    for await (const names of namesOf(db, `lg${"?".repeat(ID_BYTES + 4)}`, "hash"))
      for (let from = 0; from < names.length; from += ATTEMPTS) {
        const some = names.slice(from, from + ATTEMPTS);
        const answers = await db.call(some.map((name) => ["HVALS", db.key(name)]));
        yield* once((answers as Buffer[][]).flatMap((parts) => parts.map(partFrom)));
      }
  },
  write: ({ db, kinds }, rows) => logs(db, kinds).keep(rows),
};

/** Attempts whose lines one call reads, each up to 16 parts of 64 KiB. */
const ATTEMPTS = 20;

const journals: KindInRedis<"journals"> = {
  rows: async function* ({ db }) {
    for (let shard = 0; shard < SHARD_COUNT; shard++) {
      const found = await readJournals(db, shard);
      yield* once(found.map(({ ref, entries }) => ({ shard, ...ref, entries })));
    }
  },
  write: ({ db }, rows) =>
    send(
      db,
      rows.map(({ shard, epoch, seq, entries }) => {
        return ["HSET", db.key(`jn${shard}`), `${epoch}/${seq}`, JSON.stringify(entries)];
      }),
    ),
};

const commands: KindInRedis<"commands"> = {
  rows: async function* ({ db }) {
    for (let shard = 0; shard < SHARD_COUNT; shard++) yield* valuesOf<Command>(db, `c${shard}`);
  },
  write: ({ db }, rows) =>
    send(
      db,
      rows.flatMap((row): RedisCommand[] => [
        ["HSET", db.key(`c${row.shard}`), row.id, JSON.stringify(row)],
        ["ZADD", db.key(`ci${row.shard}`), "0", row.id],
      ]),
    ),
};

const idempotencyKeys: KindInRedis<"idempotencyKeys"> = {
  rows: async function* ({ db }) {
    const [seconds] = (await db.call([["ZRANGE", db.key("ixb"), "0", "-1"]])) as [Buffer[]];
    for (const second of seconds.map(String)) yield* once(await keysOfSecond(db, second));
  },
  write: ({ db }, rows) =>
    send(
      db,
      rows.flatMap(({ digest, requestDigest, jobs, createdAt }): RedisCommand[] => {
        const [name, second] = [Buffer.from(digest, "base64"), `${Math.floor(createdAt / 1_000)}`];
        const answer = Buffer.concat([Buffer.from(requestDigest, "base64"), ...jobs.map(answerOf)]);
        return [
          ["HSET", db.key("i"), name, answer],
          ["APPEND", db.key(`ix:${second}`), name],
          ["ZADD", db.key("ixb"), second, second],
        ];
      }),
    ),
};

async function keysOfSecond(db: RedisConnection, second: string): Promise<MovedIdempotencyKey[]> {
  const [all] = (await db.call([["GET", db.key(`ix:${second}`)]])) as [Buffer | null];
  const digests = Array.from({ length: (all?.length ?? 0) / ID_BYTES }, (_, i) =>
    (all as Buffer).subarray(i * ID_BYTES, (i + 1) * ID_BYTES),
  );
  if (digests.length === 0) return [];
  const [answers] = (await db.call([["HMGET", db.key("i"), ...digests]])) as [(Buffer | null)[]];
  return digests.flatMap((digest, i) => {
    const answer = answers[i];
    if (answer == null) return [];
    const requestDigest = answer.toString("base64", 0, ID_BYTES);
    const jobs = acceptedJobs(answer.subarray(ID_BYTES));
    return [{ digest: digest.toString("base64"), requestDigest, jobs, createdAt: Number(second) * 1_000 }];
  });
}

const audit: KindInRedis<"audit"> = {
  rows: async function* ({ db }) {
    for await (const members of membersIn(db, "ax")) yield* once(await readRecords(db, members));
  },
  write: async ({ db }, rows) => {
    for (let from = 0; from < rows.length; from += RECORDS) {
      const part = rows.slice(from, from + RECORDS);
      await db.durably("ms_audit", [`${part.length}`, ...part.flatMap(argumentsOfRecord)]);
    }
  },
};

/** Audit records of one call. */
const RECORDS = 100;

const anchors: KindInRedis<"anchors"> = {
  rows: ({ db }) => valuesOf(db, "aa"),
  write: put("aa", (row) => [`${row.number}`, JSON.stringify(row)]),
};

const sealed: KindInRedis<"sealed"> = {
  rows: async function* ({ db }) {
    for await (const pairs of fieldsIn(db, "as"))
      yield pairs.map(([chain, seq]) => ({ chain: idOf(chain), seq: seq.readUInt32BE() }));
  },
  write: put("as", ({ chain, seq }) => [idBytes(chain), u32(seq)]),
};

const positions: KindInRedis<"positions"> = {
  rows: ({ db }) => later(() => readPositions(db)),
  write: put("ig", ({ partition, topic, next, replayUntil }) => [
    u32(partition),
    Buffer.concat([idBytes(topic), u64(next), u64(replayUntil)]),
  ]),
};

/** Kinds whose rows need no function of the library but that of the audit log. */
export const PLAIN_KINDS = {
  tenants,
  sources,
  pools,
  keys,
  handlers,
  zones,
  changeovers,
  names,
  uniqueKeys,
  logs: logLines,
  journals,
  commands,
  idempotencyKeys,
  audit,
  anchors,
  sealed,
  positions,
};
