import { Postgres } from "./postgres.ts";

/**
 * How many jobs every contender runs before anything is measured, in the processes that are measured. After 40,000 the
 * CPU of a job no longer falls: what a server runs that has been there for a minute is compiled.
 */
export function warmUpJobsOf(isQuick: boolean): number {
  return isQuick ? 10_000 : 40_000;
}

/** Servers that all contenders of a run share; started when first needed. */
export class Stage implements AsyncDisposable {
  /** How many jobs each contender runs before it is measured. */
  readonly warmUpJobs: number;
  #postgres: Promise<Postgres> | null = null;

  constructor(warmUpJobs: number) {
    this.warmUpJobs = warmUpJobs;
  }

  postgres(): Promise<Postgres> {
    this.#postgres ??= Postgres.start();
    return this.#postgres;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#postgres)?.[Symbol.asyncDispose]();
  }
}
