import type { StepsMark } from "../../domain/execution.ts";
import type { EpochMs } from "../../domain/ids.ts";
import { type StepWait, waitData } from "../../domain/step.ts";
import type { ReportedWait } from "../../ports/step-messages.ts";
import type { Entry } from "../entry.ts";
import type { Step } from "../state.ts";

/** Attempts that end because their handlers sleep or wait for signals. */

export interface NamedWait extends StepWait {
  name: string;
  /** Whether an earlier attempt recorded the wait. */
  isRecorded: boolean;
}

/** Marks of suspended executions, by the reason that their rows give. */
export const MARKS: Readonly<Partial<Record<string, StepsMark>>> = { SLEEPING: "SLEEPING", AWAITS_SIGNAL: "AWAITING" };

/** @param endedAt end of the attempt, from which its waits count */
export function waitsOf(waits: readonly ReportedWait[], endedAt: EpochMs): NamedWait[] {
  return waits.map(({ name, delayMs, signals, isRecorded }) => ({
    ...{ name, signals, isRecorded },
    until: endedAt + delayMs,
  }));
}

/** Adds the records of the waits that no earlier attempt has recorded. They count from now on, also after a takeover. */
export function recordWaits({ batch, now }: Step, { id, row }: Entry, waits: readonly NamedWait[]): void {
  row.steps ??= "RECORDED";
  for (const wait of waits) {
    if (wait.isRecorded) continue;
    const { name } = wait;
    const record = { executionId: id, name, kind: "WAIT", attempt: row.attempt, number: 0, at: now } as const;
    batch.record(row.shard, { ...record, data: waitData(wait) });
  }
}

/**
 * Whether a signal ends the suspension before it begins: the signal came during the attempt, which may have reached its
 * wait without it.
 */
export function isWoken({ signals }: Entry, reason: string | null): boolean {
  return reason === "AWAITS_SIGNAL" && signals.length > 0;
}
