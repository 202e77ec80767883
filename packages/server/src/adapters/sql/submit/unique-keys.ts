import type { AcceptedJob, NewJob } from "../../../ports/store.ts";
import { texts, uuids } from "../connection/arrays.ts";
import type { Session } from "../connection/connections.ts";
import { KeyVanished } from "./key-vanished.ts";

const CLAIM = `
  INSERT INTO unique_keys (tenant, key, execution_id, job_id)
  SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::uuid[]), unnest($4::uuid[])
  ON CONFLICT DO NOTHING RETURNING tenant, key`;

const READ = `
  SELECT k.tenant, k.key, k.execution_id, k.job_id
  FROM (SELECT unnest($1::text[]) AS tenant, unnest($2::text[]) AS key) w
  JOIN unique_keys k ON k.tenant = w.tenant AND k.key = w.key`;

type Keyed = Pick<NewJob, "tenant" | "definition" | "executionId" | "jobId">;
type KeyHolder = AcceptedJob & { executionId: string };

/**
 * Claims free unique keys, each for the first job that asks for it. The statement waits for keys that another
 * transaction is claiming or releasing.
 * @returns jobs that must not be written, with the ids that hold their key
 */
export async function claimUniqueKeys<K extends Keyed>(
  session: Session,
  jobs: readonly K[],
): Promise<Map<K, KeyHolder>> {
  const asking = jobs.filter((job) => job.definition.uniqueKey !== null);
  const holders = new Map<K, KeyHolder>();
  if (asking.length === 0) return holders;
  const firsts = new Map<string, Keyed>();
  for (const job of asking) if (!firsts.has(keyName(job))) firsts.set(keyName(job), job);
  const held = await claim(session, firsts);
  for (const job of asking) {
    const first = firsts.get(keyName(job)) as Keyed;
    const holder = held.get(keyName(job)) ?? first;
    if (holder !== job) {
      holders.set(job, { jobId: holder.jobId, executionId: holder.executionId, deduplicated: true });
    }
  }
  return holders;
}

/** @returns holders of the keys that could not be claimed, by key */
async function claim(session: Session, firsts: ReadonlyMap<string, Keyed>) {
  const sorted = [...firsts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, job]) => job);
  const values = [...keyValues(sorted), uuids(sorted, (job) => job.executionId), uuids(sorted, (job) => job.jobId)];
  const taken = new Set((await session.run({ name: "claim_unique", text: CLAIM, values })).map(nameOf));
  const held = sorted.filter((job) => !taken.has(keyName(job)));
  return held.length === 0 ? new Map<string, Holder>() : await readHolders(session, held);
}

interface Holder {
  jobId: string;
  executionId: string;
}

async function readHolders(session: Session, held: readonly Keyed[]): Promise<Map<string, Holder>> {
  const rows = await session.run({ name: "read_unique", text: READ, values: keyValues(held) });
  const holders = new Map<string, Holder>();
  for (const row of rows) {
    const [, , executionId, jobId] = row as [string, string, string, string];
    holders.set(nameOf(row), { executionId, jobId });
  }
  const gone = held.find((job) => !holders.has(keyName(job)));
  if (gone !== undefined) throw new KeyVanished(`The unique key ${gone.definition.uniqueKey} was just released`);
  return holders;
}

function keyValues(jobs: readonly Keyed[]) {
  return [texts(jobs, (job) => job.tenant), texts(jobs, (job) => job.definition.uniqueKey)];
}

function keyName(job: Keyed): string {
  return JSON.stringify([job.tenant, job.definition.uniqueKey]);
}

function nameOf(row: readonly unknown[]): string {
  return JSON.stringify(row.slice(0, 2));
}
