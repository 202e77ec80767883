import type { OrderStrategy } from "@mainspring/contract/enums";
import type { EpochMs } from "./ids.ts";

export { ORDER_STRATEGIES, type OrderStrategy } from "@mainspring/contract/enums";

/** Order of a pool's ready work. */
export interface Ordering {
  order: OrderStrategy;
  /** With PRIORITY: the head start in ms of one level of priority; 1 second to 30 days. */
  priorityStepMs: number;
}

/** Default order: one level of priority is a head start of an hour, so urgent work goes first and no work starves. */
export const DEFAULT_ORDERING: Ordering = { order: "PRIORITY", priorityStepMs: 3_600_000 };

/** Number that orders ready work; the smallest runs first. */
export function rankOf({ order, priorityStepMs }: Ordering, dueAt: EpochMs, priority: number): number {
  return order === "FIFO" ? dueAt : dueAt - priority * priorityStepMs;
}
