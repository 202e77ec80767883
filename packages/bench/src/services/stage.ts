import { Postgres } from "./postgres.ts";

/** What all contenders of a session stand on; started when first needed. */
export class Stage implements AsyncDisposable {
  #postgres: Promise<Postgres> | null = null;

  postgres(): Promise<Postgres> {
    this.#postgres ??= Postgres.start();
    return this.#postgres;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#postgres)?.[Symbol.asyncDispose]();
  }
}
