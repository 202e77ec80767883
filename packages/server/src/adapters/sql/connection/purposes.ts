import type { LineLimits } from "./waiting-line.ts";

/**
 * Purpose of a connection. The hot path never waits behind a listing, and a takeover can end the commits of an owner
 * without touching anything else of its node.
 */
export type Purpose = "commit" | "submit" | "read" | "query" | "list" | "maintain" | "lease" | "claim";

/** A statement that takes longer has an unknown answer; the server gives up first, so that it can still say so. */
export const STATEMENT_TIMEOUT_MS = 10_000;
const ANSWER_GRACE_MS = 2_000;
const LONG_STATEMENT_TIMEOUT_MS = 600_000;
/** A list looks at so many rows; one that takes longer is at a store that has no time for lists. */
const LIST_TIMEOUT_MS = 5_000;
/** Well below the time that a lease stands, so that it can be asked for again. */
const LEASE_TIMEOUT_MS = 1_000;
export const CONNECT_TIMEOUT_MS = 5_000;

const ANSWER_TIMEOUTS_MS: Partial<Record<Purpose, number>> = {
  maintain: LONG_STATEMENT_TIMEOUT_MS + ANSWER_GRACE_MS,
  lease: LEASE_TIMEOUT_MS,
};

/** Connections for each purpose; with the one that holds the claim at most 13 in all. */
export const POOL_SIZES: Record<Exclude<Purpose, "claim">, number> = {
  commit: 1,
  submit: 3,
  read: 2,
  query: 2,
  list: 2,
  maintain: 1,
  lease: 1,
};

/** Connections that a node may have open at once, the one of its claim included. */
export const CONNECTIONS_MAX = 1 + Object.values(POOL_SIZES).reduce((sum, size) => sum + size, 0);

/** Reads of clients wait in a line each, before the pool: it has this many under way, half of them in pg's own queue. */
export const LINES = new Map<Purpose, LineLimits>(
  (["query", "list"] as const).map((purpose) => [
    purpose,
    { inside: 2 * POOL_SIZES[purpose], waitMs: CONNECT_TIMEOUT_MS, perTurn: 100 },
  ]),
);

/** People wait for these. */
export const IMPATIENT: readonly Purpose[] = ["submit", "query", "list"];

/** Their connections are closed when nobody has used them for a while. */
export const SLEEPY: readonly Purpose[] = ["query", "list", "maintain"];

/** Statements of the hot path are planned once, blind to statistics: always by index, in nested loops. */
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
  // Each list says by the order of its rows which index it means; what sorts or scans instead is never right.
  list: { ...LIST_SETTINGS, statement_timeout: String(LIST_TIMEOUT_MS) },
  maintain: {
    jit: "off",
    // DDL that waits for a lock makes everybody else wait behind it.
    lock_timeout: "2000",
    // Looking through a month may take its time.
    statement_timeout: String(LONG_STATEMENT_TIMEOUT_MS),
  },
  lease: { ...HOT_SETTINGS, statement_timeout: String(LEASE_TIMEOUT_MS) },
  // A predecessor whose machine vanished must not keep its claim for the two hours that TCP takes by default.
  claim: { tcp_keepalives_idle: "5", tcp_keepalives_interval: "2", tcp_keepalives_count: "3" },
};

export function answerTimeoutMs(purpose: Purpose): number {
  return ANSWER_TIMEOUTS_MS[purpose] ?? STATEMENT_TIMEOUT_MS + ANSWER_GRACE_MS;
}
