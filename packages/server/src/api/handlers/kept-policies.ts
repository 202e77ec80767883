import type { HandlerPolicies } from "@mainspring/contract";
import { ownedPool, ownerOfPool } from "../../domain/pool.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { KeptHandler, StoreHandlers } from "../../ports/store-handlers.ts";
import type { Lacking } from "../feature-gate.ts";

/** Time that a change in the store may take to be seen by this node. */
const FRESH_MS = 1_000;

interface KeptParts {
  store: { readonly handlers: StoreHandlers };
  runtime: Pick<Runtime, "monotonicMs">;
  lacking?: Lacking | undefined;
}

/** Policies of all handlers. */
export class PolicyBook {
  readonly #kept = new Map<string, KeptHandler>();
  readonly #homes = new Map<string, string>();
  /** Parsed policies, of handlers that were asked for. */
  readonly #read = new Map<string, HandlerPolicies>();

  constructor(handlers: readonly KeptHandler[]) {
    for (const kept of handlers) {
      this.#kept.set(keyOf(kept.pool, kept.handler), kept);
      if (kept.isHome) this.#homes.set(homeKey(ownerOfPool(kept.pool), kept.handler), kept.pool);
    }
  }

  /** Pool for a tenant's jobs of the handler that name none: its own one, else the shared one. null: no task names one. */
  homeOf(tenant: string, handler: string): string | null {
    return this.#homes.get(homeKey(tenant, handler)) ?? this.#homes.get(homeKey(null, handler)) ?? null;
  }

  /** null: none are kept. */
  of(pool: string, handler: string): HandlerPolicies | null {
    const key = keyOf(pool, handler);
    const kept = this.#kept.get(key);
    if (kept === undefined) return null;
    const known = this.#read.get(key);
    if (known !== undefined) return known;
    const policies = JSON.parse(kept.policies) as HandlerPolicies;
    this.#read.set(key, policies);
    return policies;
  }
}

const EMPTY = new PolicyBook([]);

/** The policies that the store keeps, looked for at most once a second. */
export class KeptPolicies {
  readonly #parts: KeptParts;
  #version: string | null = null;
  #book: Promise<PolicyBook> = Promise.resolve(EMPTY);
  /** The last ones that were read. */
  #latest: PolicyBook = EMPTY;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: KeptParts) {
    this.#parts = parts;
  }

  /** None while a node of the cluster would leave them out. @throws {StoreUnavailable} */
  read(): Promise<PolicyBook> {
    const { runtime, lacking } = this.#parts;
    if (lacking?.("HANDLER_POLICIES")) return Promise.resolve(EMPTY);
    const nowMs = runtime.monotonicMs();
    if (nowMs - this.#readAtMs > FRESH_MS) {
      this.#readAtMs = nowMs;
      this.#book = this.#fetch(this.#book.catch(() => EMPTY));
    }
    return this.#book;
  }

  /** The policies as they were read last, without waiting; none before the first read. */
  latest(): PolicyBook {
    // The store may be away.
    this.read().catch(() => undefined);
    return this.#latest;
  }

  async #fetch(before: Promise<PolicyBook>): Promise<PolicyBook> {
    try {
      const known = await before;
      const kept = await this.#parts.store.handlers.read(this.#version);
      if (kept === null) return known;
      this.#version = kept.version;
      this.#latest = new PolicyBook(kept.handlers);
      return this.#latest;
    } catch (error) {
      // The next submit asks again, rather than fail for the rest of the second.
      this.#readAtMs = Number.NEGATIVE_INFINITY;
      this.#version = null;
      throw error;
    }
  }
}

function homeKey(owner: string | null, handler: string): string {
  return owner === null ? handler : ownedPool(owner, handler);
}

function keyOf(pool: string, handler: string): string {
  return `${pool}\u0000${handler}`;
}
