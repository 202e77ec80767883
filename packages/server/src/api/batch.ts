import type { Logger } from "pino";
import { problemError } from "./error-answers.ts";
import type { Problem } from "./errors.ts";
import type { Idempotency, JobIntake, ReceivedJob, TakenJobs } from "./job-intake.ts";

/** What is submitted as one where nothing demands that it be all or nothing. */
const CHUNK_JOBS = 1_000;
const CHUNK_BYTES = 4 * 1024 * 1024;

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

  constructor(size: number) {
    this.items = Array.from({ length: size });
  }

  refuse(index: number, error: Problem): void {
    this.items[index] = { index, error };
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
