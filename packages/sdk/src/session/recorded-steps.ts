import type { RecordedSteps, Token } from "@mainspring/proto";
import { keyOf } from "./held-attempts.ts";
import { recordOf } from "./messages.ts";
import type { StepRecord } from "./work.ts";

/** Records of earlier attempts, and signals, that the gateway has sent ahead of an Assign. */
export class RecordedBuffer {
  readonly #byToken = new Map<string, StepRecord[]>();

  /** @param nowMs monotonic clock, in milliseconds */
  add(parts: readonly RecordedSteps[], nowMs: number): void {
    for (const { token, steps } of parts) {
      if (token === undefined) continue;
      const records = this.#byToken.get(keyOf(token)) ?? [];
      for (const step of steps) records.push(...recordOf(step, nowMs));
      this.#byToken.set(keyOf(token), records);
    }
  }

  /** Removes the records of an attempt, whose Assign has come. @returns undefined: there are none */
  take(token: Token): StepRecord[] | undefined {
    if (this.#byToken.size === 0) return undefined;
    const records = this.#byToken.get(keyOf(token));
    this.#byToken.delete(keyOf(token));
    return records;
  }

  clear(): void {
    this.#byToken.clear();
  }
}
