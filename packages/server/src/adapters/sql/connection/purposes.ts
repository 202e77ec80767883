import type { LineLimits } from "./waiting-line.ts";

/**
 * Purpose of a connection, each with a pool of its own. So the hot path never waits behind a list, and a takeover can
 * terminate the commits of an owner without touching other connections of its node.
 */
export type Purpose = "commit" | "submit" | "read" | "query" | "list" | "maintain" | "lease" | "claim";

/**
 * Time limit of a statement, in milliseconds. The answer of a longer statement is unknown; the server's limit comes
 * first, so that the server can still report it.
 */
export const STATEMENT_TIMEOUT_MS = 10_000;
const ANSWER_GRACE_MS = 2_000;
const LONG_STATEMENT_TIMEOUT_MS = 600_000;
/**
 * Time limit of a list, in milliseconds. A list looks at a bounded number of rows, so a longer one means that the store
 * is overloaded.
 */
const LIST_TIMEOUT_MS = 5_000;
/**
 * Time limit of a lease statement, in milliseconds: well below the duration of a lease, so that a retry is possible.
 */
const LEASE_TIMEOUT_MS = 1_000;
export const CONNECT_TIMEOUT_MS = 5_000;

const ANSWER_TIMEOUTS_MS: Partial<Record<Purpose, number>> = {
  maintain: LONG_STATEMENT_TIMEOUT_MS + ANSWER_GRACE_MS,
  lease: LEASE_TIMEOUT_MS,
};

/** Number of connections for each purpose; with the connection that holds the claim, at most 13 in all. */
export const POOL_SIZES: Record<Exclude<Purpose, "claim">, number> = {
  commit: 1,
  submit: 3,
  read: 2,
  query: 2,
  list: 2,
  maintain: 1,
  lease: 1,
};

/** Largest number of connections that a node opens at once, including that of its claim. */
export const CONNECTIONS_MAX = 1 + Object.values(POOL_SIZES).reduce((sum, size) => sum + size, 0);

/**
 * Waiting lines for reads of clients, one per purpose, in front of the pool. Each has this many reads in progress, half
 * of them in pg's own queue.
 */
export const LINES = new Map<Purpose, LineLimits>(
  (["query", "list"] as const).map((purpose) => [
    purpose,
    { inside: 2 * POOL_SIZES[purpose], waitMs: CONNECT_TIMEOUT_MS, perTurn: 100 },
  ]),
);

/** Purposes for which people wait. */
export const IMPATIENT: readonly Purpose[] = ["submit", "query", "list"];

/** Purposes whose idle connections are closed after a while. */
export const SLEEPY: readonly Purpose[] = ["query", "list", "maintain"];

/**
 * Settings of the hot path: statements are planned once, without regard to statistics, always by index and in nested
 * loops.
 */
const HOT_SETTINGS = {
  plan_cache_mode: "force_generic_plan",
  jit: "off",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
};

const LIST_SETTINGS = {
  jit: "off",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_sort: "off",
  enable_incremental_sort: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
};

export const SETTINGS: Record<Purpose, Record<string, string>> = {
  commit: HOT_SETTINGS,
  submit: HOT_SETTINGS,
  read: HOT_SETTINGS,
  query: { jit: "off" },
  // Each list orders its rows as its index does. A plan that sorts or scans instead is never right.
  list: { ...LIST_SETTINGS, statement_timeout: String(LIST_TIMEOUT_MS) },
  maintain: {
    jit: "off",
    // A DDL statement that waits for a lock makes all other statements wait behind it.
    lock_timeout: "2000",
    // A scan of a month may take long.
    statement_timeout: String(LONG_STATEMENT_TIMEOUT_MS),
  },
  lease: { ...HOT_SETTINGS, statement_timeout: String(LEASE_TIMEOUT_MS) },
  // A predecessor whose machine vanished must not keep its claim for the two hours of TCP's default.
  claim: { tcp_keepalives_idle: "5", tcp_keepalives_interval: "2", tcp_keepalives_count: "3" },
};

export function answerTimeoutMs(purpose: Purpose): number {
  return ANSWER_TIMEOUTS_MS[purpose] ?? STATEMENT_TIMEOUT_MS + ANSWER_GRACE_MS;
}
