import { shownPool } from "../../domain/pool.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Bus } from "../../ports/bus.ts";
import type { HandlerOffer } from "../../ports/handler-policies.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Lacking } from "../feature-gate.ts";
import type { Inbox } from "../inbox.ts";

/** A gateway that is slower is not waited for. */
const ASK_TIMEOUT_MS = 250;
/** Answers that are younger say who offers a handler and who does not; */
const FRESH_MS = 2_000;
/** younger than this they still say that somebody does. */
const SERVED_MS = 60_000;
const POOLS_TOLD_MAX = 10;

export interface OffersParts {
  bus: Bus;
  inbox: Inbox;
  runtime: Runtime;
  lacking?: Lacking | undefined;
  /** Whether a tenant may use a pool. Other pools are not told to it; left out: it may use every pool. */
  allows?: (tenant: Tenant, pool: string) => boolean;
}

/** Handlers that the workers of the cluster offered at one moment. */
export interface Offered {
  offers: readonly HandlerOffer[];
  /** Whether every gateway has answered with all that its workers offer. */
  isWhole: boolean;
}

interface Known {
  pools: ReadonlySet<string>;
  /** Pools by handler. */
  poolsOf: ReadonlyMap<string, ReadonlySet<string>>;
  isWhole: boolean;
  atMs: number;
}

/** Which handlers the workers of the cluster offer, as their gateways say. */
export class HandlerOffers {
  readonly #parts: OffersParts;
  #known: Known = { pools: new Set(), poolsOf: new Map(), isWhole: false, atMs: Number.NEGATIVE_INFINITY };
  #asking: Promise<void> | null = null;

  constructor(parts: OffersParts) {
    this.#parts = parts;
  }

  /** Nothing where an older gateway would not answer. */
  async ask(): Promise<Offered> {
    const { bus, inbox, runtime, lacking } = this.#parts;
    const gateways = bus.nodes("gateway");
    if (gateways.length === 0 || lacking?.("HANDLER_OFFERS")) return { offers: [], isWhole: false };
    const request = runtime.uuid();
    const answered = inbox.collect(request, gateways.length, ASK_TIMEOUT_MS);
    for (const node of gateways) bus.send({ node, role: "gateway" }, { kind: "LIST_HANDLERS", request });
    const answers = (await answered).filter((answer) => answer.kind === "HANDLERS");
    const isWhole = answers.length === gateways.length && answers.every((answer) => answer.isWhole);
    return { offers: answers.flatMap(({ offers }) => offers), isWhole };
  }

  /** Names of pools that a tenant may use and whose workers offer the handler, in order; the first ten. */
  async poolsOf(tenant: Tenant, handler: string): Promise<string[]> {
    await this.#refresh(FRESH_MS);
    return this.#poolsOf(tenant, handler);
  }

  /** Sentence about a job that no worker can run now; null: one can, or that is not known. */
  async warning(tenant: Tenant, pool: string, handler: string): Promise<string | null> {
    if (!this.#isServed(pool, handler) || this.#ageMs > SERVED_MS) await this.#refresh(FRESH_MS);
    if (!this.#known.isWhole || this.#isServed(pool, handler)) return null;
    const waits = "the job waits until one does";
    const names = this.#poolsOf(tenant, handler).map((name) => JSON.stringify(name));
    const place = names.length === 1 ? `the pool ${names[0]}` : `the pools ${names.join(", ")}`;
    const elsewhere = names.length === 0 ? "" : `; workers of ${place} offer the handler`;
    const shown = JSON.stringify(shownPool(pool));
    if (!this.#known.pools.has(pool)) return `no worker serves the pool ${shown} now: ${waits}${elsewhere}`;
    return `no worker of the pool ${shown} offers the handler ${JSON.stringify(handler)} now: ${waits}${elsewhere}`;
  }

  get #ageMs(): number {
    return this.#parts.runtime.monotonicMs() - this.#known.atMs;
  }

  #isServed(pool: string, handler: string): boolean {
    return this.#known.poolsOf.get(handler)?.has(pool) === true;
  }

  #poolsOf(tenant: Tenant, handler: string): string[] {
    const { allows = () => true } = this.#parts;
    const pools = [...(this.#known.poolsOf.get(handler) ?? [])].filter((pool) => allows(tenant, pool));
    return [...new Set(pools.map(shownPool))].sort().slice(0, POOLS_TOLD_MAX);
  }

  async #refresh(maxAgeMs: number): Promise<void> {
    if (this.#ageMs <= maxAgeMs) return;
    this.#asking ??= this.#look().finally(() => {
      this.#asking = null;
    });
    await this.#asking;
  }

  async #look(): Promise<void> {
    const { offers, isWhole } = await this.ask();
    const pools = new Set<string>();
    const poolsOf = new Map<string, Set<string>>();
    for (const { pool, handler } of offers) {
      pools.add(pool);
      const known = poolsOf.get(handler);
      if (known === undefined) poolsOf.set(handler, new Set([pool]));
      else known.add(pool);
    }
    this.#known = { pools, poolsOf, isWhole, atMs: this.#parts.runtime.monotonicMs() };
  }
}
