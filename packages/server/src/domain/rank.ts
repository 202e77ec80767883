import type { EpochMs } from "./ids.ts";

export type OrderStrategy = "PRIORITY" | "FIFO";

/** A level of priority is a head start of an hour: urgent work goes first, and nothing starves. */
const PRIORITY_STEP_MS = 3_600_000;

/** The one number that orders ready work; the smallest runs first. */
export function rankOf(strategy: OrderStrategy, dueAt: EpochMs, priority: number): number {
  return strategy === "FIFO" ? dueAt : dueAt - priority * PRIORITY_STEP_MS;
}
