import type { ExecutionId } from "../../../domain/ids.ts";
import { type KeptNodes, resultsOf } from "../../../domain/workflow/kept-nodes.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import type { NewRetry, RetryOutcome } from "../../../ports/store-runs.ts";
import { digestOfTexts } from "../../../ports/text-digest.ts";
import { inboxOfRetry } from "../../../ports/told-events.ts";
import { behind, ID_BYTES, idBytes, idOf, NO_BYTES, u32 } from "../bytes.ts";
import { leftArguments } from "../events/told-arguments.ts";
import { textsOfJob } from "../kinds.ts";
import { readRows } from "../owner-reads.ts";
import { stateCode, uniqueField } from "../record.ts";
import { type Changing, type OpenJob, readJob } from "../recurring/job-changes.ts";
import { isOfJob, openBefore } from "../recurring/job-runs.ts";
import type { RedisArgument, RedisConnection } from "../redis-connection.ts";
import { acceptedJobs, answeredBefore } from "../submit.ts";
import { rootArguments, runRecord, textsOfRow } from "./new-workflow.ts";
import { type PartOfRun, PLACE_BYTES, readRuns, runFields, runKey } from "./run-record.ts";

/** Nodes, and parts with their graphs, of one call. */
const [NODES, PARTS] = [500, 8];

/** See StoreRuns.retry. A retry beside another change of the job reads again and decides again. */
export async function retryRun(
  changing: Changing,
  asked: NewRetry,
  note: AuditNote | undefined,
): Promise<RetryOutcome> {
  for (;;) {
    const job = await readJob(changing, asked.tenant, asked.jobId);
    const refused = await refusal(changing, job, asked);
    // A repeat gets the first answer, although the first request has opened a run by now.
    if (job === null || refused !== null)
      return (await repeated(changing.db, asked)) ?? refused ?? { kind: "NOT_FOUND" };
    const outcome = outcomeOf(asked, await write(changing, job, asked, note));
    if (outcome !== null) return outcome;
  }
}

/** @returns reason why the run must not be written; null: there is none in what was read */
async function refusal(changing: Changing, job: OpenJob | null, asked: NewRetry): Promise<RetryOutcome | null> {
  const { retryOf, kept } = asked;
  if (job?.nested === undefined || !(await isOfJob(changing, retryOf, asked))) return { kind: "NOT_FOUND" };
  if (job.deletedAt !== null) return { kind: "DELETED" };
  const open = openBefore(job, retryOf);
  if (open !== undefined) return { kind: "NOT_FINAL", executionId: open };
  for (const one of kept) if (!(await hasResults(changing.db, one))) return { kind: "RESULTS_GONE", run: one.run };
  return null;
}

/** Whether the nodes and items that a retry keeps of a run have SUCCEEDED there. */
async function hasResults(db: RedisConnection, kept: KeptNodes): Promise<boolean> {
  const { nodes, maps, items } = resultsOf(kept);
  const [run, state] = [kept.run, Buffer.from([stateCode("SUCCEEDED")])];
  const bitmaps = maps.map((node) => db.key(Buffer.concat([runKey("z", run), u32(node), state])));
  const counts = await db.call(bitmaps.map((bitmap) => ["BITCOUNT", bitmap]));
  if (counts.reduce((sum: number, count) => sum + Number(count), 0) !== items) return false;
  for (let from = 0; from < nodes.length; from += NODES) {
    const part = nodes.slice(from, from + NODES);
    const rows = await readRows(db, await executionsOf(db, run, part));
    if (rows.filter((row) => row?.state === "SUCCEEDED").length !== part.length) return false;
  }
  return true;
}

/** Ids of the executions of nodes of a run. Nodes without one are left out. */
async function executionsOf(db: RedisConnection, run: ExecutionId, nodes: readonly number[]): Promise<ExecutionId[]> {
  const key = db.key(runKey("ln", run));
  const bounds = (node: number) => [Buffer.concat([Buffer.from("["), u32(node)]), beforeNode(node + 1)] as const;
  const answers = await db.call(nodes.map((node) => ["ZRANGE", key, ...bounds(node), "BYLEX"]));
  return answers.flatMap((members) => (members as Buffer[]).map((member) => idOf(member, PLACE_BYTES)));
}

function beforeNode(node: number): Buffer {
  return behind(u32(node));
}

async function repeated(db: RedisConnection, { idempotency }: NewRetry): Promise<RetryOutcome | null> {
  const known = idempotency === null ? null : await answeredBefore(db, idempotency);
  if (known === null || known.kind === "KEY_REUSED") return known;
  return { kind: "ACCEPTED", executionId: known.jobs[0]?.executionId as ExecutionId, replayed: true };
}

async function write(changing: Changing, job: OpenJob, asked: NewRetry, note: AuditNote | undefined): Promise<Buffer> {
  const { db, kinds, trail, now, isTelling } = changing;
  const { tenant, jobId, executionId, retryOf, definition, idempotency, roots } = asked;
  const numbers = await kinds.numbersOf([
    ...textsOfJob({ tenant, definition }),
    ...roots.flatMap(({ row }) => textsOfRow(row)),
  ]);
  const numbersAt = (i: number) => ({ flow: numbers[2 * i] as number, kind: numbers[2 * i + 1] as number });
  await db.refuseUnwritable();
  const parts = await copyParts(changing, asked);
  const fields = fieldsOf(asked, parts);
  const { uniqueKey } = definition;
  const args: RedisArgument[] = [
    ...[idBytes(jobId), job.text ?? NO_BYTES, idBytes(retryOf), idBytes(executionId)],
    runRecord(asked, numbersAt(0), { trigger: "RETRY", retryOf, jobVersion: asked.jobVersion }),
    ...[uniqueKey === null ? NO_BYTES : uniqueField(tenant, uniqueKey), tenant],
    idempotency === null ? NO_BYTES : digestOfTexts(idempotency.tenant, idempotency.key),
    idempotency === null ? NO_BYTES : digestOfTexts(idempotency.requestHash),
    `${Math.floor(now() / 1_000)}`,
    Buffer.concat(asked.kept.map(({ run }) => idBytes(run))),
    Buffer.concat(parts.map(({ name }) => name)),
    ...leftArguments(isTelling() ? inboxOfRetry(asked) : undefined),
    ...[`${fields.length}`, ...fields],
    ...[`${roots.length}`, ...roots.flatMap((root, i) => rootArguments(root, numbersAt(i + 1)))],
  ];
  const isDone = (answer: unknown) => String(answer)[0] === "A";
  return (await trail.call("ms_retry", args, note === undefined ? [] : [note], isDone)) as Buffer;
}

/** Fields of the new run's record. */
function fieldsOf({ outcome, mapCounts, kept }: NewRetry, parts: readonly PartOfRun[]): RedisArgument[] {
  const mode = outcome === undefined ? "RUNNING" : "CANCELLING";
  return [
    ...runFields({
      ...{ revision: 1, mode, paused: false, kept },
      ...(outcome !== undefined && { outcome }),
      ...(mapCounts.length > 0 && { mapCounts }),
    }),
    ...parts.flatMap(({ first, nodes, name }) => [
      Buffer.concat([Buffer.from("s"), u32(first)]),
      Buffer.concat([u32(nodes), name.subarray(-4)]),
    ]),
  ];
}

/** Copies the parts that the new run has, too, before the call that names them. */
async function copyParts({ db, now }: Changing, { retryOf, executionId, parts }: NewRetry): Promise<PartOfRun[]> {
  if (parts.length === 0) return [];
  const [former] = await readRuns(db, [retryOf]);
  const kept = (former?.parts ?? []).filter(({ first }) => parts.includes(first));
  const copies = kept.map((part) => {
    const name = Buffer.concat([runKey("b", executionId), part.name.subarray(1 + ID_BYTES)]);
    return { ...part, name, from: part.name };
  });
  for (let at = 0; at < copies.length; at += PARTS)
    await db.call(
      copies
        .slice(at, at + PARTS)
        .flatMap(({ name, from }) => [
          ["ZADD", db.key("bodies"), `${Math.floor(now())}`, name] as const,
          ["COPY", db.key(from), db.key(name), "REPLACE"] as const,
        ]),
    );
  return copies;
}

/** @returns null: the job is not as it was read */
function outcomeOf({ executionId }: NewRetry, answer: Buffer): RetryOutcome | null {
  const kind = String.fromCharCode(answer[0] as number);
  if (kind === "A") return { kind: "ACCEPTED", executionId, replayed: false };
  if (kind === "K") return { kind: "KEY_REUSED" };
  if (kind === "G") return { kind: "RESULTS_GONE", run: idOf(answer, 1) };
  if (kind === "H") return { kind: "KEY_HELD", executionId: idOf(answer, 1 + ID_BYTES) };
  if (kind === "0") return null;
  const [first] = acceptedJobs(answer.subarray(1));
  return { kind: "ACCEPTED", executionId: first?.executionId as ExecutionId, replayed: true };
}
