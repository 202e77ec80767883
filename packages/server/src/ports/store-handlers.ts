import type { EpochMs } from "../domain/ids.ts";

/** Policies that a worker's task declares for jobs of its handler. */
export interface DeclaredHandler {
  pool: string;
  handler: string;
  /** Whether jobs of the handler that name no pool go to this pool. */
  isHome: boolean;
  /** JSON text of a `HandlerPolicies`, see domain/handler-policies.ts; "{}": none. */
  policies: string;
  /** Whether the worker has just started: its word replaces what is kept. A worker that comes back adds what is missing. */
  isNews: boolean;
}

/** A handler with policies, as the store keeps it. */
export interface KeptHandler extends Omit<DeclaredHandler, "isNews"> {
  /** Time of the latest change. */
  declaredAt: EpochMs;
  /** Latest connection of a worker that offers the handler, to the hour. */
  seenAt: EpochMs;
}

export interface KeptHandlers {
  /** Names this state of the list. */
  version: string;
  /** All handlers with policies, in the order of pool and handler. */
  handlers: KeptHandler[];
}

/** Policies of handlers, for all API nodes. */
export interface StoreHandlers {
  /** @param known version that the caller has; null: none @returns null: nothing has changed since that version */
  read(known: string | null): Promise<KeptHandlers | null>;
  /**
   * Keeps what workers declare. Writes only rows that change: what is kept already costs no write. A handler that declares
   * nothing is not added. One pool of a handler is its home: the one that was declared last. Where more than
   * `HANDLERS_KEPT_MAX` of shared pools, or `HANDLERS_OF_TENANT_MAX` of one tenant, are kept, the store forgets those that were seen longest ago.
   * @param declared each pool and handler once
   * @param at time of the declarations
   * @returns whether anything that jobs go by has changed
   */
  keep(declared: readonly DeclaredHandler[], at: EpochMs): Promise<boolean>;
}

/** Time after which `seenAt` of a handler is written anew. */
export const SEEN_EVERY_MS = 3_600_000;
