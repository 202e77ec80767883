import type { AcceptedJob, EpochMs, ExecutionId, NewJob } from "@mainspring/server/testing";

/** Which execution holds a unique key. */
export class UniqueKeys {
  readonly #holders = new Map<string, AcceptedJob>();
  readonly #names = new Map<ExecutionId, string>();

  /** @returns the job that holds the key of this one already, said as the answer that this one gets; null: it is free */
  holderOf(job: NewJob): AcceptedJob | null {
    return this.#holders.get(nameOf(job)) ?? null;
  }

  isHeld(job: NewJob): boolean {
    return job.definition.uniqueKey !== null && this.#holders.has(nameOf(job));
  }

  take(job: NewJob): void {
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

function nameOf({ tenant, definition }: NewJob): string {
  return JSON.stringify([tenant, definition.uniqueKey]);
}

interface FirstAnswer {
  requestHash: string;
  jobs: readonly AcceptedJob[];
  createdAt: EpochMs;
}

/** How requests with an idempotency key were answered the first time. */
export class IdempotencyKeys {
  readonly #answers = new Map<string, FirstAnswer>();

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
