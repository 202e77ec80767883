import type { Epoch } from "../../../domain/ids.ts";
import { idTimeMs } from "../../../domain/occurrence-id.ts";
import { isRecurringJobId } from "../../../domain/recurrence.ts";
import type { Command } from "../../../ports/store-commands.ts";
import {
  type MovedIdempotencyKey,
  type StoreTransfer,
  type TransferCounters,
  type TransferKind,
  type TransferRows,
} from "../../../ports/store-transfer.ts";
import { digestOfTexts } from "../../../ports/text-digest.ts";
import type { Claim } from "../cluster/claim.ts";
import { commandFrom, insertCommand } from "../cluster/commands.ts";
import { journalEntries, journalText } from "../commit/journal.ts";
import { byteas, int4s, int8s, texts, uuids } from "../connection/arrays.ts";
import type { Connections, Row, Session } from "../connection/connections.ts";
import { explained } from "../connection/preflight.ts";
import { tablesOf } from "../schema/copy-table.ts";
import { BEYOND, leaveView, readMark, writeMark } from "../schema/marks.ts";
import { applyMigrations } from "../schema/migrate.ts";
import { createPartition, monthNamed, monthOf, PARTITIONS, type PartitionedTable } from "../schema/partitions.ts";
import { acceptedJobs } from "../submit/idempotency-keys.ts";
import { insertStatement, keyOf, limitOf, readStatement, rowFrom } from "./columns.ts";
import { hasTable, type TableKind, tableOf } from "./tables.ts";

/** Tables that a new store has rows in, which a transfer changes by statements of their own. */
const KEPT: ReadonlySet<string> = new Set(["schema_migrations", "shards", "tenants_version", "api_keys_version"]);

/** Rows that stay behind. The name of each is for people. */
const LEFT: Readonly<Record<string, string>> = {
  "lifecycle events": "SELECT (SELECT count(*) FROM outbox) + (SELECT count(*) FROM event_inbox)",
  "requests in SQL that were taken in": "SELECT count(*) FROM job_requests",
  "fates of records from Kafka": "SELECT count(*) FROM ingest_records",
};

/** Rows that must not be lost, and have no place in another store. */
const UNMOVABLE: Readonly<Record<string, string>> = {
  "requests in SQL that no server has taken in: start a server until it has":
    "SELECT count(*) FROM job_requests WHERE state = 0",
  "runs over dead letters that have not ended: wait for their end":
    "SELECT count(*) FROM dead_letter_runs WHERE finished_at IS NULL",
  "runs over executions that have not ended: wait for their end, or stop them":
    "SELECT count(*) FROM execution_runs WHERE finished_at IS NULL",
};

const DIGESTS_ALONE =
  "PostgreSQL needs the key itself, and the source has a digest of it; --without idempotencyKeys leaves all keys behind, so that the " +
  "repeat of an earlier request makes its jobs again";

/** Rows of a portion of kinds that statements of their own read. */
const LIMIT = 1_000;
const JOURNALS = `SELECT shard, epoch, seq, entries FROM journal WHERE $1::int2 IS NULL OR (shard, epoch, seq) > ($1, $2::int8, $3::int8)
  ORDER BY shard, epoch, seq LIMIT ${LIMIT}`;
const COMMANDS = `SELECT id, shard, kind, execution_id, job_id, body FROM commands WHERE $1::uuid IS NULL OR id > $1
  ORDER BY id LIMIT ${LIMIT}`;
const IDEMPOTENCY = `SELECT tenant, key, request_hash, response, created_at FROM idempotency_keys
  WHERE $1::text IS NULL OR (tenant, key) > ($1, $2::text) ORDER BY tenant, key LIMIT ${LIMIT}`;

/** Database of a transfer, with the claim to its store. */
export interface SqlPlace {
  name: string;
  /** Connections to the schema of the store, and by the user's search path. */
  db: Connections;
  outside: Connections;
  claim: Claim;
  schema: string;
  /** Whether there is no store yet. */
  isNew: boolean;
}

/** A store on PostgreSQL as one side of a transfer. See StoreTransfer. */
export class SqlTransfer implements StoreTransfer {
  readonly name: string;
  readonly #place: SqlPlace;
  readonly #months = new Map<PartitionedTable, Set<string>>();
  #isNew: boolean;

  constructor(place: SqlPlace) {
    this.name = place.name;
    this.#place = place;
    this.#isNew = place.isNew;
  }

  async mark() {
    return this.#isNew ? null : await this.#place.db.session("maintain", readMark);
  }

  async setMark(mark: Parameters<StoreTransfer["setMark"]>[0]): Promise<void> {
    const { db, outside, schema } = this.#place;
    await explained(() =>
      db.transaction("maintain", async (session) => {
        if (this.#isNew) await applyMigrations(session, schema);
        await writeMark(session, mark);
      }),
    );
    if (this.#isNew) await leaveView(outside, schema);
    this.#isNew = false;
  }

  async isEmpty(): Promise<boolean> {
    return this.#isNew;
  }

  async empty(): Promise<void> {
    await this.#place.db.session("maintain", async (session) => {
      const filled = (await tablesOf({ session })).filter(({ name }) => !KEPT.has(name));
      await session.run({ text: `TRUNCATE ${filled.map(({ name }) => name).join(", ")}` });
    });
  }

  async unmovable() {
    for (const [what, text] of Object.entries(UNMOVABLE)) {
      const count = await this.#count(text);
      if (count > 0) return { what, count };
    }
    return null;
  }

  async leftBehind(): Promise<Readonly<Record<string, number>>> {
    const counts: Record<string, number> = {};
    for (const [what, text] of Object.entries(LEFT)) counts[what] = await this.#count(text);
    return counts;
  }

  rows<K extends TransferKind>(kind: K): AsyncIterable<TransferRows[K][]> {
    if (hasTable(kind)) return this.#tableRows(kind) as AsyncIterable<TransferRows[K][]>;
    const others: { [O in Exclude<TransferKind, TableKind>]: () => AsyncIterable<TransferRows[O][]> } = {
      journals: () => this.#pages(JOURNALS, 3, journalFrom),
      commands: () => this.#pages(COMMANDS, 1, commandFrom),
      idempotencyKeys: () => this.#pages(IDEMPOTENCY, 2, idempotencyKeyFrom),
    };
    return others[kind as keyof typeof others]() as unknown as AsyncIterable<TransferRows[K][]>;
  }

  unfit(kind: TransferKind): string | null {
    return kind === "idempotencyKeys" ? DIGESTS_ALONE : null;
  }

  async write<K extends TransferKind>(kind: K, rows: readonly TransferRows[K][]): Promise<void> {
    if (hasTable(kind)) return await this.#writeTable(kind, rows as never);
    const others: { [O in Exclude<TransferKind, TableKind>]: (rows: readonly TransferRows[O][]) => Promise<void> } = {
      journals: (journals) => this.#writeJournals(journals),
      commands: (commands) => this.#writeCommands(commands),
      idempotencyKeys: () => Promise.reject(new Error(DIGESTS_ALONE)),
    };
    await others[kind as keyof typeof others](rows as never);
  }

  async counters(): Promise<TransferCounters> {
    const text = `SELECT (SELECT version FROM tenants_version), (SELECT version FROM api_keys_version),
      (SELECT max(needs_level) FROM schema_migrations WHERE version < ${BEYOND})`;
    const [row] = await this.#run({ text });
    const [tenants, keys, level] = (row as Row).map(Number) as [number, number, number];
    return { tenants, keys, level };
  }

  async setCounters({ tenants, keys, level }: TransferCounters): Promise<void> {
    await this.#place.db.transaction("maintain", async (session) => {
      await session.run({ text: "UPDATE tenants_version SET version = $1", values: [tenants] });
      await session.run({ text: "UPDATE api_keys_version SET version = $1", values: [keys] });
      const raise = `UPDATE schema_migrations SET needs_level = greatest(needs_level, $1)
        WHERE version = (SELECT max(version) FROM schema_migrations WHERE version < ${BEYOND})`;
      await session.run({ text: raise, values: [level] });
    });
  }

  async epochs(): Promise<Epoch[]> {
    return (await this.#run({ text: "SELECT epoch FROM shards ORDER BY id" })).map(([epoch]) => epoch as Epoch);
  }

  async raiseEpochs(above: readonly Epoch[]): Promise<void> {
    const text = `UPDATE shards s SET epoch = greatest(s.epoch, a.epoch) + 1, owner = NULL
      FROM unnest($1::int4[], $2::int8[]) a (id, epoch) WHERE s.id = a.id`;
    const shards = above.map((epoch, shard) => ({ epoch, shard }));
    await this.#run({ text, values: [int4s(shards, (s) => s.shard), int8s(shards, (s) => s.epoch)] });
  }

  async close(): Promise<void> {
    const { db, outside, claim } = this.#place;
    await claim.release();
    await Promise.all([db.close(), outside.close()]);
  }

  #run(statement: Parameters<Connections["run"]>[1]): Promise<Row[]> {
    return this.#place.db.run("maintain", statement);
  }

  async #count(text: string): Promise<number> {
    return Number((await this.#run({ text }))[0]?.[0]);
  }

  async *#tableRows<K extends TableKind>(kind: K): AsyncGenerator<TransferRows[K][]> {
    const table = tableOf(kind);
    for (let after: unknown[] = []; ; ) {
      const found = await this.#run({ text: readStatement(table, after.length === 0), values: after });
      const rows = found.map((row) => rowFrom(table, row));
      if (rows.length > 0) yield rows;
      if (rows.length < limitOf(table)) return;
      after = keyOf(table, rows.at(-1) as TransferRows[K]);
    }
  }

  /** Rows of a statement that reads on behind its first columns. */
  async *#pages<R>(text: string, keys: number, from: (row: Row) => R): AsyncGenerator<R[]> {
    for (let after: unknown[] = Array.from({ length: keys }, () => null); ; ) {
      const found = await this.#run({ text, values: after });
      if (found.length > 0) yield found.map(from);
      if (found.length < LIMIT) return;
      after = (found.at(-1) as Row).slice(0, keys);
    }
  }

  async #writeTable<K extends TableKind>(kind: K, rows: readonly TransferRows[K][]): Promise<void> {
    await this.#makeMonths(kind, rows as never);
    await this.#place.db.transaction("maintain", async (session) => {
      await session.run(insertStatement(tableOf(kind), rows));
      const also: { [O in TransferKind]?: (session: Session, rows: readonly TransferRows[O][]) => Promise<void> } = {
        ...{ graphs: writeGraphPayloads, parts: writePartPayloads, jobs: nameJobs, executions: writeFormerPayloads },
      };
      await also[kind]?.(session, rows as never);
    });
  }

  /** Creates the months of rows of partitioned tables. */
  async #makeMonths(kind: TableKind, rows: readonly TransferRows[TableKind][]): Promise<void> {
    const [table, idOf] = PARTITIONED_KINDS[kind] ?? [];
    if (table === undefined || idOf === undefined) return;
    const known = this.#months.get(table) ?? (await this.#knownMonths(table));
    this.#months.set(table, known);
    for (const at of rows.map((row) => idOf(row as never))) {
      const month = at === null ? null : monthOf(at);
      if (month === null || known.has(month.name)) continue;
      await this.#place.db.session("maintain", (session) => session.run({ text: createPartition(table, month) }));
      known.add(month.name);
    }
  }

  async #knownMonths(table: PartitionedTable): Promise<Set<string>> {
    const names = await this.#run({ text: PARTITIONS, values: [table] });
    return new Set(names.flatMap(([name]) => monthNamed(table, (name as string).split(".").at(-1) ?? "")?.name ?? []));
  }

  async #writeJournals(journals: readonly TransferRows["journals"][]): Promise<void> {
    const text = `INSERT INTO journal (shard, epoch, seq, entries)
      SELECT * FROM unnest($1::int4[], $2::int8[], $3::int8[], $4::text[]) ON CONFLICT DO NOTHING`;
    const values = [
      ...[int4s(journals, (j) => j.shard), int8s(journals, (j) => j.epoch), int8s(journals, (j) => j.seq)],
      texts(journals, (j) => journalText(j.entries)),
    ];
    await this.#run({ text, values });
  }

  async #writeCommands(commands: readonly Command[]): Promise<void> {
    await this.#place.db.transaction("maintain", async (session) => {
      for (const command of commands) await insertCommand(session, command);
    });
  }
}

/** Partitioned tables of kinds, and the instant that decides about the month of a row; null: the row has another partition. */
const PARTITIONED_KINDS: {
  readonly [K in TransferKind]?: readonly [PartitionedTable, (row: TransferRows[K]) => number | null];
} = {
  jobs: ["jobs", ({ jobId }) => (isRecurringJobId(jobId) ? null : idTimeMs(jobId))],
  executions: ["executions", ({ id }) => idTimeMs(id)],
  steps: ["execution_steps", ({ executionId }) => idTimeMs(executionId)],
  signals: ["signals", ({ executionId }) => idTimeMs(executionId)],
  logs: ["attempt_logs", ({ executionId }) => idTimeMs(executionId)],
  audit: ["audit", ({ at }) => at],
};

function journalFrom([shard, epoch, seq, entries]: Row): TransferRows["journals"] {
  return { shard, epoch, seq, entries: journalEntries(entries as string) } as TransferRows["journals"];
}

function idempotencyKeyFrom(row: Row): MovedIdempotencyKey {
  const [tenant, text, requestHash, response, createdAt] = row as [string, string, string, string, number];
  const [digest, requestDigest] = [digestOfTexts(tenant, text), digestOfTexts(requestHash)];
  return {
    ...{ digest: digest.toString("base64"), requestDigest: requestDigest.toString("base64") },
    jobs: acceptedJobs(response),
    createdAt: Math.floor(createdAt / 1_000) * 1_000,
  };
}

/** Names the job of each sub-workflow in its graph. */
async function nameJobs(session: Session, jobs: readonly TransferRows["jobs"][]): Promise<void> {
  const pairs = jobs.flatMap(({ jobId, nested }) => (nested ?? []).map((id) => ({ id, jobId })));
  if (pairs.length === 0) return;
  const text = `UPDATE workflow_graphs g SET of_job = n.job FROM unnest($1::uuid[], $2::uuid[]) n (id, job) WHERE g.job_id = n.id`;
  await session.run({ text, values: [uuids(pairs, (p) => p.id), uuids(pairs, (p) => p.jobId)] });
}

async function writeGraphPayloads(session: Session, graphs: readonly TransferRows["graphs"][]): Promise<void> {
  const all = graphs.flatMap(({ workflow, version, payloads }) => payloads.map((p) => ({ ...p, workflow, version })));
  const text = `INSERT INTO workflow_payloads (job_id, version, node, payload)
    SELECT * FROM unnest($1::uuid[], $2::int4[], $3::int4[], $4::bytea[]) ON CONFLICT DO NOTHING`;
  const values = [uuids(all, (p) => p.workflow), int4s(all, (p) => p.version), int4s(all, (p) => p.node)];
  if (all.length > 0) await session.run({ text, values: [...values, byteas(all, (p) => p.payload)] });
}

async function writePartPayloads(session: Session, parts: readonly TransferRows["parts"][]): Promise<void> {
  const all = parts.flatMap(({ run, payloads }) => payloads.map((payload) => ({ ...payload, run })));
  const text = `INSERT INTO workflow_part_payloads (run, node, payload)
    SELECT * FROM unnest($1::uuid[], $2::int4[], $3::bytea[]) ON CONFLICT DO NOTHING`;
  const values = [uuids(all, (p) => p.run), int4s(all, (p) => p.node), byteas(all, (p) => p.payload)];
  if (all.length > 0) await session.run({ text, values });
}

/** Keeps small payloads of former versions, which a store may have in executions alone. */
async function writeFormerPayloads(session: Session, rows: readonly TransferRows["executions"][]): Promise<void> {
  const all = rows.filter(({ payload, jobVersion }) => payload !== null && jobVersion > 0);
  const text = `INSERT INTO job_payloads (job_id, version, payload)
    SELECT DISTINCT ON (f.id, f.version) f.id, f.version, f.payload
    FROM unnest($1::uuid[], $2::int4[], $3::bytea[]) f (id, version, payload) JOIN jobs j ON j.id = f.id
    WHERE j.version <> f.version ON CONFLICT DO NOTHING`;
  const values = [uuids(all, (e) => e.jobId), int4s(all, (e) => e.jobVersion), byteas(all, (e) => e.payload)];
  if (all.length > 0) await session.run({ text, values });
}
