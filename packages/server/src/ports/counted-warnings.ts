import type { Runtime } from "./runtime.ts";

/** Minimum interval between two logged warnings of one kind. Warnings in between are only counted. */
const EVERY_MS = 10_000;

/**
 * A log for warnings that may repeat thousands of times. It logs the first warning of each kind immediately, and adds
 * the number of those that it left out to the next one.
 */
export class CountedWarnings {
  readonly #log: { warn(fields: object, message: string): void };
  readonly #runtime: Pick<Runtime, "monotonicMs">;
  readonly #kinds = new Map<string, { toldMs: number; untold: number }>();

  constructor(log: { warn(fields: object, message: string): void }, runtime: Pick<Runtime, "monotonicMs">) {
    this.#log = log;
    this.#runtime = runtime;
  }

  /** @param message a fixed text, which is the kind of the warning */
  warn(fields: object, message: string): void {
    const nowMs = this.#runtime.monotonicMs();
    const kind = this.#kinds.get(message);
    if (kind !== undefined && nowMs - kind.toldMs < EVERY_MS) {
      kind.untold++;
      return;
    }
    const repeated = kind === undefined || kind.untold === 0 ? {} : { repeated: kind.untold };
    this.#kinds.set(message, { toldMs: nowMs, untold: 0 });
    this.#log.warn({ ...fields, ...repeated }, message);
  }
}
