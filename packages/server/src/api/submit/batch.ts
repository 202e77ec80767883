import { createHash } from "node:crypto";
import type { AcceptedBody, JobSubmission } from "@mainspring/contract";
import type { Logger } from "pino";
import type { Tenant } from "../../ports/authenticator.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import { problemError } from "../http/error-answers.ts";
import { type FieldError, invalid, type Problem, ProblemError } from "../http/errors.ts";
import { ERRORS_MAX } from "../http/validation.ts";
import type { Charge, Quotas } from "../quotas/quotas.ts";
import { chargeBatch } from "../quotas/submit-under.ts";
import type { AcceptableJob, JobAcceptor } from "../requests/job-acceptor.ts";
import type { Idempotency, JobIntake, TakenJobs } from "./job-intake.ts";
import { receivedLoad } from "./submit-route.ts";

/** Number of jobs submitted together where a batch need not be atomic. */
const CHUNK_JOBS = 1_000;
const CHUNK_BYTES = 4 * 1024 * 1024;

/**
 * Largest number of faults in the answer, over all jobs; for further wrong jobs the answer has only the kind of error.
 */
const FAULTS_MAX = 64;
/** Handlers of a batch that nobody offers, of which the answer tells. */
const WARNED_MAX = 64;
/** Number of jobs above which a batch of wrong jobs only is answered as one bad request. */
const HOPELESS_JOBS = 100;

type Body = TakenJobs["bodies"][number] | AcceptedBody;
type Item = Exclude<Body, { error: Problem }> | { index: number; error: Problem };
type Taken = { replayed: boolean; bodies: Body[] };

/** Ways of the jobs of a batch. */
interface Ways {
  intake: Pick<JobIntake, "take" | "wasAnswered">;
  /** Left out: no tenant has a quota. */
  quotas?: Quotas | undefined;
  /** Bytes of the body of the request. */
  bodyBytes?: number;
  /** Way through the log of requests; null: there is none. */
  acceptor: JobAcceptor | null;
  /** Fact for the audit log, once for each chunk that is taken by itself; null or left out: none. */
  note?: AuditNote | null;
}

interface Placed {
  index: number;
  received: AcceptableJob;
  /** Key of this job; null: it has none. */
  idempotency: Idempotency;
}

/** The jobs of one request, with the outcome of each. */
export class Batch {
  /** Items in the order of the jobs, complete after `take`. */
  readonly items: Item[];
  readonly #good: Placed[] = [];
  #faults = 0;

  constructor(size: number) {
    this.items = Array.from({ length: size });
  }

  /** Number of faults that the answer may still contain. */
  get faultsLeft(): number {
    return Math.max(0, Math.min(ERRORS_MAX, FAULTS_MAX - this.#faults));
  }

  refuse(index: number, error: Problem): void {
    const { type, title, status } = error;
    this.items[index] = { index, error: this.#faults < FAULTS_MAX ? error : { type, title, status } };
    this.#faults += error.errors?.length ?? 1;
  }

  /** @throws {ProblemError} 400 with the first faults, if the answer would be thousands of errors */
  refuseIfHopeless(): void {
    if (this.#good.length > 0 || this.items.length <= HOPELESS_JOBS) return;
    const faults = this.items.slice(0, ERRORS_MAX).flatMap((item) => ("error" in item ? faultsOf(item) : []));
    const { errors, detail, ...problem } = invalid(faults.slice(0, ERRORS_MAX));
    const told = `none of the ${this.items.length} jobs can be taken; ${detail}`;
    throw new ProblemError({ ...problem, detail: told, errors: errors ?? [] });
  }

  add(index: number, received: AcceptableJob, idempotency: Idempotency): void {
    this.#good.push({ index, received, idempotency });
  }

  /**
   * Takes all that was not refused: as one where a key makes the batch repeatable, else in chunks, each by itself. A job with a key
   * of its own is a chunk.
   * @throws what stopped the first chunk, if nothing was taken
   */
  async take(tenant: Tenant, ways: Ways, whole: Idempotency, log: Logger): Promise<{ replayed: boolean }> {
    if (this.#good.length === 0) return { replayed: false };
    const { intake, acceptor, note = null } = ways;
    const chunks = whole === null ? chunksOf(this.#good) : [this.#good];
    const charges = await chargesOf(tenant, chunks, ways, whole);
    const results = await Promise.allSettled(
      chunks.map(async (chunk, number): Promise<Taken> => {
        const charge = charges[number];
        if (charge instanceof ProblemError) throw charge;
        const jobs = chunk.map(({ received }) => received);
        if (acceptor?.takesAll) return await accepted(tenant, acceptor, chunk, whole, log);
        // A repeat of a batch with a key has to meet the first one in the store.
        if (acceptor === null || whole !== null)
          return intake.take(tenant, jobs, whole ?? chunk[0]?.idempotency ?? null, note, charge);
        try {
          return await intake.take(tenant, jobs, chunk[0]?.idempotency ?? null, note, charge);
        } catch (error) {
          if (!acceptor.takesAfter(error)) throw error;
          return await accepted(tenant, acceptor, chunk, null, log);
        }
      }),
    );
    const [first] = results;
    const hasOwnKeys = this.#good.some(({ idempotency }) => idempotency !== null);
    // Jobs with keys of their own are answered one by one: the key of one says nothing about the others.
    const stopsAll = (result: PromiseSettledResult<unknown>) =>
      result.status === "rejected" && (!hasOwnKeys || isOfOthers(result.reason));
    if (first?.status === "rejected" && results.every(stopsAll)) throw first.reason;
    for (const [number, result] of results.entries()) this.#settle(chunks[number] ?? [], result, log);
    return { replayed: whole !== null && first?.status === "fulfilled" && first.value.replayed };
  }

  /**
   * Adds warnings to answers about accepted jobs: to each job with a key of its own, and of the others to the first one of each
   * pool and handler, so that an answer does not repeat itself ten thousand times.
   */
  async warn(warningsOf: (job: JobSubmission) => Promise<{ warnings?: string[] }>): Promise<void> {
    const told = new Map<string, readonly string[]>();
    for (const { index, received, idempotency } of this.#good) {
      const { pool, handler } = received.job.target;
      const key = `${pool ?? ""}\u0000${handler}`;
      const known = told.get(key);
      const isFirst = known === undefined && told.size < WARNED_MAX;
      const { warnings = known ?? [] } = isFirst ? await warningsOf(received.job) : {};
      if (isFirst) told.set(key, warnings);
      if (isFirst || idempotency !== null) this.#addWarnings(index, warnings);
    }
  }

  #addWarnings(index: number, warnings: readonly string[]): void {
    const item = this.items[index];
    if (item === undefined || !("state" in item) || "deduplicated" in item || warnings.length === 0) return;
    this.items[index] = { ...item, warnings: [...(item.warnings ?? []), ...warnings] };
  }

  #settle(chunk: readonly Placed[], result: PromiseSettledResult<Taken>, log: Logger): void {
    const failed = result.status === "rejected" ? problemError(result.reason, log).problem : null;
    const bodies = result.status === "fulfilled" ? result.value.bodies : [];
    for (const [place, { index }] of chunk.entries()) {
      const body = bodies[place];
      if (body !== undefined) this.items[index] = "error" in body ? { index, error: body.error } : body;
      else if (failed !== null) this.refuse(index, failed);
    }
  }
}

/**
 * Charges a batch to the quotas of its tenant as a whole.
 * @returns one for each chunk; empty: the tenant has no quotas, or jobs go into the log, whose reader charges them
 */
async function chargesOf(
  tenant: Tenant,
  chunks: readonly Placed[][],
  { intake, acceptor, quotas, bodyBytes = 0 }: Ways,
  whole: Idempotency,
): Promise<(Charge | ProblemError)[]> {
  if (quotas === undefined || !quotas.limits(tenant)) return [];
  const parts = chunks.map((chunk) => ({
    load: receivedLoad(
      chunk.map(({ received }) => received),
      bodyBytes,
    ),
    idempotency: whole ?? chunk[0]?.idempotency ?? null,
  }));
  if (!acceptor?.takesAll)
    return await chargeBatch(quotas, (key) => intake.wasAnswered({ ...key, tenant }), tenant, parts);
  for (const { load } of parts) quotas.requireFit(tenant, load);
  return [];
}

/**
 * Brings jobs into the log of requests, each by itself. A key of the batch becomes a key of each job.
 * @throws what stopped the first job, if all were stopped
 */
async function accepted(
  tenant: Tenant,
  acceptor: JobAcceptor,
  chunk: readonly Placed[],
  whole: Idempotency,
  log: Logger,
): Promise<Taken> {
  const results = await Promise.allSettled(
    chunk.map(({ index, received, idempotency }) => {
      return acceptor.accept(tenant, received, whole === null ? idempotency : keyInBatch(whole, index));
    }),
  );
  const [first] = results;
  if (first?.status === "rejected" && results.every(({ status }) => status === "rejected")) throw first.reason;
  const bodies = results.map((result): Body => {
    return result.status === "fulfilled" ? result.value : { error: problemError(result.reason, log).problem };
  });
  return { replayed: false, bodies };
}

/** Key of a job of a batch that has a key. Keys have a limited length, and this one must fit. */
function keyInBatch(whole: NonNullable<Idempotency>, index: number): Idempotency {
  const hash = createHash("sha256").update(whole.key).digest("hex");
  return { ...whole, key: `batch-${hash}-${index}` };
}

/** Whether a job failed for an external cause: the store is away, or too many jobs wait for it. */
function isOfOthers(error: unknown): boolean {
  return !(error instanceof ProblemError) || error.problem.status === 429;
}

function chunksOf(jobs: readonly Placed[]): Placed[][] {
  const chunks: Placed[][] = [];
  let chunk: Placed[] = [];
  let bytes = 0;
  for (const job of jobs) {
    if (job.idempotency !== null) {
      chunks.push([job]);
      continue;
    }
    const jobBytes = job.received.payload?.length ?? 0;
    if (chunk.length >= CHUNK_JOBS || (chunk.length > 0 && bytes + jobBytes > CHUNK_BYTES)) {
      chunks.push(chunk);
      chunk = [];
      bytes = 0;
    }
    chunk.push(job);
    bytes += jobBytes;
  }
  return chunk.length === 0 ? chunks : [...chunks, chunk];
}

/** The faults of a job, at their places in the batch. */
function faultsOf({ index, error }: { index: number; error: Problem }): FieldError[] {
  const job = `jobs[${index}]`;
  const { errors = [{ field: "", message: error.detail ?? error.title }] } = error;
  return errors.map((fault) => ({ ...fault, field: fault.field === "" ? job : `${job}.${fault.field}` }));
}
