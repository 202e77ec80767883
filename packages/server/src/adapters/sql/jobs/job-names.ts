import type { JobId } from "../../../domain/ids.ts";
import type { AcceptedJob, NewRecurringJob } from "../../../ports/store.ts";
import { texts, uuids } from "../connection/arrays.ts";
import type { Session } from "../connection/connections.ts";
import { KeyVanished } from "../submit/key-vanished.ts";

const CLAIM = `
  INSERT INTO job_names (tenant, name, job_id) SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::uuid[])
  ON CONFLICT DO NOTHING RETURNING tenant, name`;

const READ = `
  SELECT n.tenant, n.name, n.job_id
  FROM (SELECT unnest($1::text[]) AS tenant, unnest($2::text[]) AS name) w
  JOIN job_names n ON n.tenant = w.tenant AND n.name = w.name`;

const RELEASE = "DELETE FROM job_names WHERE tenant = $1 AND name = $2 AND job_id = $3";

/** Request of a job for a name. */
interface Asking {
  tenant: string;
  jobId: JobId;
  name: string;
}

/**
 * Claims free names of recurring jobs, each for the first job that asks for it. The statement waits for names that
 * another transaction is claiming or releasing.
 * @returns jobs that must not be written, with the id of the job that has the name
 */
export async function claimNames(
  session: Session,
  jobs: readonly NewRecurringJob[],
): Promise<Map<NewRecurringJob, AcceptedJob>> {
  const asking = new Map<NewRecurringJob, Asking>();
  for (const job of jobs) {
    const { tenant, jobId, definition } = job;
    if (definition.name !== null) asking.set(job, { tenant, jobId, name: definition.name });
  }
  const holders = await claimAll(session, [...asking.values()]);
  const held = new Map<NewRecurringJob, AcceptedJob>();
  for (const [job, asked] of asking) {
    const holder = holders.get(nameOf(asked)) as JobId;
    if (holder !== job.jobId) {
      held.set(job, { jobId: job.jobId, executionId: null, deduplicated: false, nameHeldBy: holder });
    }
  }
  return held;
}

/** @returns id of the job that has the name: the one that asks, or another one, and then nothing was changed */
export async function claimName(session: Session, asked: Asking): Promise<JobId> {
  return (await claimAll(session, [asked])).get(nameOf(asked)) as JobId;
}

export async function releaseName(session: Session, { tenant, name, jobId }: Asking): Promise<void> {
  await session.run({ name: "release_name", text: RELEASE, values: [tenant, name, jobId] });
}

/** Id of the job that has the name; null: none. */
export async function readName(session: Session, tenant: string, name: string): Promise<JobId | null> {
  const [row] = await session.run({ name: "read_names", text: READ, values: valuesOf([{ tenant, name }]) });
  return (row?.[2] as JobId | undefined) ?? null;
}

/** @returns ids of the jobs that have the names, by name */
async function claimAll(session: Session, asking: readonly Asking[]): Promise<Map<string, JobId>> {
  const holders = new Map<string, JobId>();
  if (asking.length === 0) return holders;
  const firsts = new Map<string, Asking>();
  for (const asked of asking) if (!firsts.has(nameOf(asked))) firsts.set(nameOf(asked), asked);
  const sorted = [...firsts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, asked]) => asked);
  const values = [...valuesOf(sorted), uuids(sorted, ({ jobId }) => jobId)];
  for (const [tenant, name] of await session.run({ name: "claim_names", text: CLAIM, values })) {
    const key = nameOf({ tenant: tenant as string, name: name as string });
    holders.set(key, (firsts.get(key) as Asking).jobId);
  }
  const held = sorted.filter((asked) => !holders.has(nameOf(asked)));
  if (held.length > 0) await readHolders(session, held, holders);
  return holders;
}

async function readHolders(session: Session, held: readonly Asking[], holders: Map<string, JobId>): Promise<void> {
  for (const [tenant, name, jobId] of await session.run({ name: "read_names", text: READ, values: valuesOf(held) })) {
    holders.set(nameOf({ tenant: tenant as string, name: name as string }), jobId as JobId);
  }
  const gone = held.find((asked) => !holders.has(nameOf(asked)));
  if (gone !== undefined) throw new KeyVanished(`The name ${gone.name} was just released`);
}

function valuesOf(asking: readonly Omit<Asking, "jobId">[]) {
  return [texts(asking, ({ tenant }) => tenant), texts(asking, ({ name }) => name)];
}

function nameOf({ tenant, name }: Omit<Asking, "jobId">): string {
  return JSON.stringify([tenant, name]);
}
