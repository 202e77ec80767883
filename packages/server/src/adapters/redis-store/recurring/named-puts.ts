import type { EpochMs, JobId } from "../../../domain/ids.ts";
import { isRecurringJobId } from "../../../domain/recurrence.ts";
import type { NewJob, NewRecurringJob } from "../../../ports/store.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import type { NamedOutcome, NamedPut, ReplaceOutcome } from "../../../ports/store-jobs.ts";
import { behind, idOf } from "../bytes.ts";
import { uniqueField } from "../record.ts";
import type { RedisAnswer, RedisArgument } from "../redis-connection.ts";
import { type Changing, nameText, replaceJob } from "./job-changes.ts";
import { haveOpen, readJobs } from "./job-rows.ts";

/** Jobs with a name that one call reads, and that a put looks at. */
const PER_CALL = 500;
const LOOKED_AT = 10_000;

/** Writes the body of a job, and gives the arguments of the function that submits it, as they follow the records of the audit log. */
export type PackSubmission = (job: NewJob | NewRecurringJob, at: EpochMs) => Promise<RedisArgument[]>;

/** See StoreJobs.putNamed. A put beside another one of the name looks again. */
export async function putNamed(
  changing: Changing,
  { job, commandId }: NamedPut,
  pack: PackSubmission,
  note: AuditNote | undefined,
): Promise<ReplaceOutcome | NamedOutcome> {
  const { tenant, definition, payload, createdAt: at } = job;
  for (;;) {
    const seen = await lookUp(changing, job);
    const [jobId] = seen.bearers;
    if (seen.bearers.length > 1) return { kind: "AMBIGUOUS", jobIds: seen.bearers };
    if (jobId !== undefined) {
      const asked = { tenant, jobId, definition, payload, ifVersion: null, commandId, at };
      const outcome = await replaceJob(changing, asked, note);
      if (!hasEnded(jobId, outcome)) return outcome;
      if (isRecurringJobId(jobId)) continue;
    }
    const created = await create(changing, job, seen, pack, note);
    if (created !== null) return created;
  }
}

/** Whether the job has ended since it was found. A recurring job that has ended keeps its name until it is deleted. */
function hasEnded(jobId: JobId, outcome: ReplaceOutcome): boolean {
  if (outcome.kind === "NOT_FOUND") return true;
  return outcome.kind === "WRONG_STATE" && (outcome.state === "DELETED" || !isRecurringJobId(jobId));
}

/** Jobs with a name: how many run once, the newest of them, and those that a put replaces. */
interface Seen {
  count: number;
  newest: Buffer;
  /** At most two active jobs, of the kind of the asked one if there are any. */
  bearers: JobId[];
}

async function lookUp(changing: Changing, job: NamedPut["job"]): Promise<Seen> {
  const { db } = changing;
  const { tenant, definition } = job;
  const name = definition.name as string;
  const index = db.key(`mo${nameText(tenant, name)}`);
  const [holder, count, newest] = (await db.call([
    ["HGET", db.key("m"), uniqueField(tenant, name)],
    ["ZCARD", index],
    ["ZRANGE", index, "+", "-", "BYLEX", "REV", "LIMIT", "0", "1"],
  ])) as [Buffer | null, number, Buffer[]];
  const recurring = holder === null ? [] : [idOf(holder)];
  const seen = { count, newest: newest[0] ?? Buffer.alloc(0) };
  if (job.executionId === null && recurring.length > 0) return { ...seen, bearers: recurring };
  const active = await activeJobs(changing, index);
  return { ...seen, bearers: active.length > 0 ? active : recurring };
}

/** Active jobs of an index, at most two, among the newest. */
async function activeJobs({ db, kinds }: Changing, index: RedisArgument): Promise<JobId[]> {
  const found: JobId[] = [];
  for (let from: Buffer | "+" = "+", looked = 0; looked < LOOKED_AT; looked += PER_CALL) {
    const [answer] = await db.call([["ZRANGE", index, from, "-", "BYLEX", "REV", "LIMIT", "0", `${PER_CALL}`]]);
    const members = answer as Buffer[];
    const jobs = (
      await readJobs(
        db,
        kinds,
        members.map((member) => idOf(member)),
      )
    ).flatMap((job) => job ?? []);
    const open = await haveOpen(db, jobs);
    found.push(...jobs.filter(({ deletedAt }, i) => deletedAt === null && open[i]).map(({ jobId }) => jobId));
    if (found.length >= 2 || members.length < PER_CALL) break;
    from = behind(members.at(-1) as Buffer);
  }
  return found.slice(0, 2).sort();
}

/** @returns null: another job has taken the name since it was looked up */
async function create(
  { db, trail, now }: Changing,
  job: NamedPut["job"],
  { count, newest }: Seen,
  pack: PackSubmission,
  note: AuditNote | undefined,
): Promise<NamedOutcome | null> {
  const { tenant, definition, executionId } = job;
  const { name, uniqueKey } = definition;
  const [unique, claimed] =
    executionId === null
      ? ["", uniqueField(tenant, name as string)]
      : [uniqueKey === null ? "" : uniqueField(tenant, uniqueKey), ""];
  const at = now();
  const submission = await pack(job, at);
  const guard: RedisArgument[] = [nameText(tenant, name as string), `${count}`, newest, unique, claimed];
  const call = (records: RedisArgument[]): Promise<RedisAnswer> =>
    db.durably("ms_put_named", [...guard, `${Math.floor(at / 1_000)}`, ...records, ...submission]);
  const answer = note === undefined ? await call(["0"]) : await trail.recorded([note], call, Array.isArray);
  if (answer === 0) return null;
  return Buffer.isBuffer(answer) ? { kind: "KEY_HELD", jobId: idOf(answer) } : { kind: "CREATED" };
}
