import type { Logger } from "pino";
import { problemError } from "./error-answers.ts";
import { type FieldError, invalid, type Problem, ProblemError } from "./errors.ts";
import type { Idempotency, JobIntake, ReceivedJob, TakenJobs } from "./job-intake.ts";
import { ERRORS_MAX } from "./validation.ts";

/** Number of jobs submitted together where a batch need not be atomic. */
const CHUNK_JOBS = 1_000;
const CHUNK_BYTES = 4 * 1024 * 1024;

/** Faults that are told of all jobs together; of further bad jobs only the kind of their error is told. */
const FAULTS_MAX = 64;
/** A batch of more jobs that are all bad is answered as one bad request. */
const HOPELESS_JOBS = 100;

type Item = Exclude<TakenJobs["bodies"][number], { error: Problem }> | { index: number; error: Problem };

interface Placed {
  index: number;
  received: ReceivedJob;
}

/** The jobs of one request, and what becomes of each. */
export class Batch {
  /** In the order of the jobs; complete once they were taken. */
  readonly items: Item[];
  readonly #good: Placed[] = [];
  #faults = 0;

  constructor(size: number) {
    this.items = Array.from({ length: size });
  }

  /** How many faults may still be told. */
  get faultsLeft(): number {
    return Math.max(0, Math.min(ERRORS_MAX, FAULTS_MAX - this.#faults));
  }

  refuse(index: number, error: Problem): void {
    const { type, title, status } = error;
    this.items[index] = { index, error: this.#faults < FAULTS_MAX ? error : { type, title, status } };
    this.#faults += error.errors?.length ?? 1;
  }

  /** @throws {ProblemError} 400 with the first faults, where thousands of errors would be the answer */
  refuseIfHopeless(): void {
    if (this.#good.length > 0 || this.items.length <= HOPELESS_JOBS) return;
    const faults = this.items.slice(0, ERRORS_MAX).flatMap((item) => ("error" in item ? faultsOf(item) : []));
    const { errors, detail, ...problem } = invalid(faults.slice(0, ERRORS_MAX));
    const told = `none of the ${this.items.length} jobs can be taken; ${detail}`;
    throw new ProblemError({ ...problem, detail: told, errors: errors ?? [] });
  }

  add(index: number, received: ReceivedJob): void {
    this.#good.push({ index, received });
  }

  /**
   * Takes all that was not refused: as one where a key makes it repeatable, else in chunks, each by itself.
   * @throws what stopped the first chunk, if nothing was taken
   */
  async take(intake: JobIntake, idempotency: Idempotency, log: Logger): Promise<{ replayed: boolean }> {
    if (this.#good.length === 0) return { replayed: false };
    const chunks = idempotency === null ? chunksOf(this.#good) : [this.#good];
    const results = await Promise.allSettled(
      chunks.map((chunk) =>
        intake.take(
          chunk.map(({ received }) => received),
          idempotency,
        ),
      ),
    );
    const [first] = results;
    if (first?.status === "rejected" && results.every(({ status }) => status === "rejected")) throw first.reason;
    for (const [number, result] of results.entries()) this.#settle(chunks[number] ?? [], result, log);
    return { replayed: first?.status === "fulfilled" && first.value.replayed };
  }

  #settle(chunk: readonly Placed[], result: PromiseSettledResult<TakenJobs>, log: Logger): void {
    const failed = result.status === "rejected" ? problemError(result.reason, log).problem : null;
    const bodies = result.status === "fulfilled" ? result.value.bodies : [];
    for (const [place, { index }] of chunk.entries()) {
      const body = bodies[place];
      if (body !== undefined) this.items[index] = "error" in body ? { index, error: body.error } : body;
      else if (failed !== null) this.refuse(index, failed);
    }
  }
}

function chunksOf(jobs: readonly Placed[]): Placed[][] {
  const chunks: Placed[][] = [];
  let chunk: Placed[] = [];
  let bytes = 0;
  for (const job of jobs) {
    const jobBytes = job.received.payload?.length ?? 0;
    if (chunk.length >= CHUNK_JOBS || (chunk.length > 0 && bytes + jobBytes > CHUNK_BYTES)) {
      chunks.push(chunk);
      chunk = [];
      bytes = 0;
    }
    chunk.push(job);
    bytes += jobBytes;
  }
  return [...chunks, chunk];
}

/** The faults of a job, at their places in the batch. */
function faultsOf({ index, error }: { index: number; error: Problem }): FieldError[] {
  const job = `jobs[${index}]`;
  const { errors = [{ field: "", message: error.detail ?? error.title }] } = error;
  return errors.map((fault) => ({ ...fault, field: fault.field === "" ? job : `${job}.${fault.field}` }));
}
