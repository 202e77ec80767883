import type { OrderStrategy } from "@mainspring/contract/enums";
import type { EpochMs } from "./ids.ts";

export { ORDER_STRATEGIES, type OrderStrategy } from "@mainspring/contract/enums";

/** How a pool orders its ready work. */
export interface Ordering {
  order: OrderStrategy;
  /** With PRIORITY: the head start that one level of priority is worth; 1 second to 30 days. */
  priorityStepMs: number;
}

/** A level of priority is a head start of an hour: urgent work goes first, and nothing starves. */
export const DEFAULT_ORDERING: Ordering = { order: "PRIORITY", priorityStepMs: 3_600_000 };

/** The one number that orders ready work; the smallest runs first. */
export function rankOf({ order, priorityStepMs }: Ordering, dueAt: EpochMs, priority: number): number {
  return order === "FIFO" ? dueAt : dueAt - priority * priorityStepMs;
}
