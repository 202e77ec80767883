import type { EpochMs, ExecutionId, JobId } from "../../../domain/ids.ts";
import type { AcceptedJob, NewJob } from "../../../ports/store.ts";

/** Job with an execution that claims its unique key. */
type Keyed = Pick<NewJob, "tenant" | "definition" | "jobId" | "executionId">;

export type KeyHolder = AcceptedJob & { executionId: ExecutionId };

/** Executions that hold unique keys. */
export class UniqueKeys {
  readonly #holders = new Map<string, KeyHolder>();
  readonly #names = new Map<ExecutionId, string>();

  copy(): UniqueKeys {
    const copy = new UniqueKeys();
    for (const [name, holder] of this.#holders) copy.#holders.set(name, holder);
    for (const [id, name] of this.#names) copy.#names.set(id, name);
    return copy;
  }

  /**
   * @returns the job that holds the unique key of this one, in the form of the submit's answer; null: the key is free
   */
  holderOf(job: Keyed): KeyHolder | null {
    return this.#holders.get(nameOf(job)) ?? null;
  }

  isHeld(job: Keyed): boolean {
    return job.definition.uniqueKey !== null && this.#holders.has(nameOf(job));
  }

  take(job: Keyed): void {
    const { jobId, executionId } = job;
    this.#holders.set(nameOf(job), { jobId, executionId, deduplicated: true });
    this.#names.set(executionId, nameOf(job));
  }

  release(id: ExecutionId): void {
    const name = this.#names.get(id);
    if (name === undefined) return;
    this.#names.delete(id);
    this.#holders.delete(name);
  }
}

function nameOf({ tenant, definition }: Keyed): string {
  return JSON.stringify([tenant, definition.uniqueKey]);
}

/** Recurring jobs by their names. */
export class JobNames {
  readonly #jobs = new Map<string, JobId>();

  copy(): JobNames {
    const copy = new JobNames();
    for (const [name, job] of this.#jobs) copy.#jobs.set(name, job);
    return copy;
  }

  holderOf(tenant: string, name: string): JobId | null {
    return this.#jobs.get(JSON.stringify([tenant, name])) ?? null;
  }

  take(tenant: string, name: string, jobId: JobId): void {
    this.#jobs.set(JSON.stringify([tenant, name]), jobId);
  }

  release(tenant: string, name: string): void {
    this.#jobs.delete(JSON.stringify([tenant, name]));
  }
}

interface FirstAnswer {
  requestHash: string;
  jobs: readonly AcceptedJob[];
  createdAt: EpochMs;
}

/** Answers to requests with an idempotency key. */
export class IdempotencyKeys {
  readonly #answers = new Map<string, FirstAnswer>();

  copy(): IdempotencyKeys {
    const copy = new IdempotencyKeys();
    for (const [name, answer] of this.#answers) copy.#answers.set(name, answer);
    return copy;
  }

  get(tenant: string, key: string): FirstAnswer | undefined {
    return this.#answers.get(JSON.stringify([tenant, key]));
  }

  set(tenant: string, key: string, answer: FirstAnswer): void {
    this.#answers.set(JSON.stringify([tenant, key]), answer);
  }

  forgetBefore(instant: EpochMs): void {
    for (const [name, { createdAt }] of this.#answers) if (createdAt < instant) this.#answers.delete(name);
  }
}
