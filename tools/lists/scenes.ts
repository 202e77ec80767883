import type pg from "pg";

/** A million rows, and the planner's statistics of them. */
export interface Scene {
  name: string;
  /** SQL expressions for the state and queue of execution `n`, as their numbers. */
  state: string;
  queue: string;
  /** Time of ANALYZE, before or after the rows are inserted. */
  analyzed: "BEFORE" | "AFTER";
}

/** The newest tenth of a percent is rare. Ten executions are DEAD and ten are CANCELLED. */
const OVER = "CASE WHEN n % 100000 = 7 THEN 7 WHEN n % 100000 = 8 THEN 5 ELSE 4 END";

export const SCENES: readonly Scene[] = [
  { name: "All is over, statistics of now", state: OVER, queue: "0", analyzed: "AFTER" },
  { name: "All is over, statistics of empty tables", state: OVER, queue: "0", analyzed: "BEFORE" },
  { name: "All is ready, statistics of now", state: "1", queue: "2", analyzed: "AFTER" },
  { name: "All waits for its time, statistics of empty tables", state: "1", queue: "1", analyzed: "BEFORE" },
  {
    name: "Half is over, and the newer half is ready, statistics of now",
    ...{ state: "CASE WHEN n < $1::int / 2 THEN 4 ELSE 1 END", queue: "CASE WHEN n < $1::int / 2 THEN 0 ELSE 2 END" },
    analyzed: "AFTER",
  },
];

/** A UUIDv7 of the millisecond, made from the row's number. */
const ID = (
  ms: string,
  n: string,
  first = "''",
) => `(overlay(lpad(to_hex(${ms}), 12, '0') placing ${first} from 1 for length(${first}))
  || '7' || lpad(to_hex(${n} % 4096), 3, '0') || '8' || substr(md5(${n}::text), 1, 15))::uuid`;

/** Number of past months beside those of a new store. */
const MONTHS_BACK = 10;

/** @param rows number of jobs and of executions. @param options.recurs whether a tenth as many jobs recur; default: yes */
export async function fill(client: pg.Client, scene: Scene, rows: number, { recurs = true } = {}): Promise<void> {
  await makeMonths(client);
  if (scene.analyzed === "BEFORE") {
    await client.query("ANALYZE");
    await client.query("ALTER SYSTEM SET autovacuum = off");
    await client.query("SELECT pg_reload_conf()");
  }
  const startMs = Date.now() - rows;
  const at = `(${startMs} + n)::bigint`;
  // The oldest tenth has labels and names that newer jobs do not have.
  const handler = "CASE WHEN n % 100000 = 9 THEN 'handler-rare' ELSE 'handler-' || n % 20 END";
  const pool = "CASE WHEN n % 100000 = 9 THEN 'pool-rare' ELSE 'pool-' || n % 5 END";
  const labels = `CASE WHEN n < ${rows} / 10 THEN '{"team":"old"}'
    ELSE '{"customer":"c' || n % (${rows} / 10) || '","team":"' || CASE n % 2 WHEN 0 THEN 'billing' ELSE 'mail' END || '"}' END`;
  await client.query(`INSERT INTO jobs (id, created_at, updated_at, scheduled_at, concurrency_limit, priority, tenant, name, pool, handler, labels,
      deleted_at, payload)
    SELECT ${ID(at, "n")}, ${at}, ${at}, ${at}, 1, 50, 'default', CASE WHEN n % 100000 = 1 THEN 'job-1' END, ${pool}, ${handler}, ${labels},
      CASE WHEN n % 100000 = 2 THEN ${at} END, '{"a":1}' FROM generate_series(1, ${rows}) n`);
  const state = scene.state.replaceAll("$1", String(rows));
  const queue = scene.queue.replaceAll("$1", String(rows));
  await client.query(`INSERT INTO executions (id, job_id, lane, rank, due_at, scheduled_at, created_at, updated_at, finished_at, concurrency_limit,
      payload_bytes, shard, state, queue, priority, trigger, has_unique_key, tenant, pool, handler)
    SELECT ${ID(at, "n")}, ${ID(at, "n")}, hashtext(${pool} || ${handler}), ${at}, ${at}, ${at}, ${at}, ${at}, CASE WHEN ${queue} = 0 THEN ${at} END, 1,
      7, n % 64, ${state}, ${queue}, 50, 1, false, 'default', ${pool}, ${handler} FROM generate_series(1, ${rows}) n`);
  if (recurs) await recurring(client, rows / 10, startMs);
  await client.query(scene.analyzed === "AFTER" ? "VACUUM ANALYZE" : "VACUUM");
}

async function recurring(client: pg.Client, rows: number, startMs: number): Promise<void> {
  const id = ID(`(${startMs} + n)::bigint`, "n", "'8'");
  const rule = `{"times":{"type":"CRON","expression":"0 * * * *","timeZone":"UTC"},"misfireGraceMs":60000}`;
  await client.query(`INSERT INTO jobs (id, created_at, updated_at, scheduled_at, concurrency_limit, priority, tenant, pool, handler, payload, recurrence)
    SELECT ${id}, ${startMs}, ${startMs}, ${startMs}, 1, 50, 'default', 'pool-1', 'handler-1', NULL, '${rule}' FROM generate_series(1, ${rows}) n`);
  await client.query(`INSERT INTO plans (job_id, next_fire_at, created_at, revision, version, fired, shard, state, tzdata)
    SELECT ${id}, ${Date.now()} + n, ${startMs}, 1, 1, 0, n % 64, CASE WHEN n % 10000 = 1 THEN 2 ELSE 1 END, '2026a'
    FROM generate_series(1, ${rows}) n`);
}

async function makeMonths(client: pg.Client): Promise<void> {
  for (let back = 2; back < 2 + MONTHS_BACK; back++) {
    for (const table of ["jobs", "executions"]) {
      await client.query(`DO $$ DECLARE month timestamptz := date_trunc('month', now(), 'UTC') - interval '${back} months';
          part text := '${table}_' || to_char(month AT TIME ZONE 'UTC', 'YYYY_MM');
          from_ms bigint := extract(epoch FROM month) * 1000; to_ms bigint := extract(epoch FROM month + interval '1 month') * 1000;
        BEGIN
          EXECUTE format('CREATE TABLE %I (LIKE ${table} INCLUDING ALL)', part);
          EXECUTE format('ALTER TABLE ${table} ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part,
            (lpad(to_hex(from_ms), 12, '0') || repeat('0', 20))::uuid, (lpad(to_hex(to_ms), 12, '0') || repeat('0', 20))::uuid);
        END $$`);
    }
  }
}
