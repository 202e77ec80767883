import type { ExecutionFilter, JobFilter, Listing, Page, StoreQueries } from "../../packages/server/src/testing.ts";

/** CPU time of PostgreSQL that one page of a list may take, in milliseconds. */
export const ANSWER_LIMIT_MS = 50;

export interface NamedList {
  name: string;
  ask(queries: StoreQueries, page: Page): Promise<Listing<unknown>>;
}

export interface Measured {
  hits: number;
  /** Number of pages until 50 items were shown, or there were no more. */
  pages: number;
  /** CPU time of the most expensive page, in milliseconds. */
  pageMs: number;
}

const EXECUTIONS: ExecutionFilter[] = [
  {},
  { state: "PENDING" },
  { state: "RUNNING" },
  { state: "SUCCEEDED" },
  { state: "CANCELLED" },
  { state: "DEAD" },
  { handler: "handler-3" },
  { handler: "handler-rare" },
  { handler: "handler-none" },
  { pool: "pool-2" },
  { pool: "pool-rare" },
  { pool: "pool-none" },
  { handler: "handler-3", pool: "pool-none" },
  { handler: "handler-3", state: "DEAD" },
  { handler: "handler-3", state: "CANCELLED" },
  { pool: "pool-2", state: "RUNNING" },
  { until: Date.UTC(2020, 0) },
  { since: Date.UTC(2100, 0) },
];

const JOBS: JobFilter[] = [
  {},
  { state: "ACTIVE" },
  { state: "PAUSED" },
  { state: "FINISHED" },
  { state: "DELETED" },
  { handler: "handler-3" },
  { handler: "handler-rare" },
  { handler: "handler-none" },
  { pool: "pool-rare" },
  { pool: "pool-none" },
  { handler: "handler-3", state: "ACTIVE" },
  { handler: "handler-rare", state: "FINISHED" },
  { handler: "handler-3", state: "DELETED" },
  { name: "job-1" },
  { name: "job-none" },
  { type: "ONCE" },
  { type: "CRON" },
  { type: "INTERVAL" },
  { labels: ["team=billing"] },
  { labels: ["team=old"] },
  { labels: ["customer=c8"] },
  { labels: ["customer=none"] },
  { labels: ["team=billing", "customer=c8"] },
  { labels: ["team=billing", "customer=none"] },
  { labels: ["customer=c8"], state: "PAUSED" },
  { labels: ["team=billing"], handler: "handler-none" },
];

export const LISTS: readonly NamedList[] = [
  ...EXECUTIONS.map((filter) => ({
    name: `executions ${words(filter)}`,
    ask: (queries: StoreQueries, page: Page) => queries.listExecutions("default", filter, page),
  })),
  ...JOBS.map((filter) => ({
    name: `jobs ${words(filter)}`,
    ask: (queries: StoreQueries, page: Page) => queries.listJobs("default", filter, page),
  })),
];

function words(filter: object): string {
  const parts = Object.entries(filter).map(([key, value]) => `\`${key} ${String(value)}\``);
  return parts.length === 0 ? "of all" : parts.join(", ");
}
