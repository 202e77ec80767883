import type { FinalState } from "../domain/execution.ts";

/** What the parts of a node count. The instruments behind it are the business of `ops`. */
export interface Metrics {
  commit(figures: { durationMs: number; changes: number; assigned: number }): void;
  /** From the scheduled time to the first start. */
  lateness(pool: string, latenessMs: number): void;
  finished(state: FinalState, count: number): void;
  /** Attempts that failed and will be tried again. */
  retried(count: number): void;
  /** Results and starts that came with an old token. */
  refusedStale(count: number): void;
  workersLost(count: number): void;
  submitted(count: number): void;
  /** The owner dropped what it knew and takes its shards over anew. */
  takeover(reason: string): void;
  storeOutage(): void;
  /** Read when the figures are asked for. */
  gauge(name: "waiting" | "ready" | "assigned" | "workers" | "owned_shards", read: () => number): void;
}

/** What the api counts, and how it shows the figures of the whole node. */
export interface ApiMetrics {
  /** @param figures.route the route's pattern, so that ids make no series of their own */
  request(figures: { method: string; route: string; status: number; durationMs: number }): void;
  submitted(count: number): void;
  /** One group commit of submits. */
  submitCommit(figures: { durationMs: number; jobs: number }): void;
  storeOutage(): void;
  /** All figures in the text format of Prometheus. */
  text(): Promise<{ contentType: string; body: string }>;
}
