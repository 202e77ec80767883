import type { HandlerOffer } from "../ports/handler-policies.ts";
import type { Declarations } from "./connections/hello-policies.ts";
import { OFFER_VARIANTS_MAX, OFFERS_LISTED_MAX, OFFERS_MAX_CHARS } from "./limits.ts";

interface Offerer {
  readonly profile: { pool: string; handlers: readonly string[] };
}

interface Offered {
  pool: string;
  handler: string;
  workers: number;
  /** Number of workers by what they declare. */
  variants: Map<string, { isHome: boolean; policies: string; workers: number }>;
}

/** Handlers that the workers of a gateway offer, counted as workers come and go. */
export class Offers {
  readonly #offered = new Map<string, Offered>();
  readonly #declared = new Map<Offerer, Declarations | null>();

  /** @param declared null: the worker does not say what its tasks declare */
  add(worker: Offerer, declared: Declarations | null): void {
    this.delete(worker);
    this.#declared.set(worker, declared);
    this.#count(worker, declared, 1);
  }

  /** The worker offers nothing any more. Idempotent. */
  delete(worker: Offerer): void {
    const declared = this.#declared.get(worker);
    if (this.#declared.delete(worker)) this.#count(worker, declared ?? null, -1);
  }

  /** `isWhole`: whether these are all. */
  list(): { offers: HandlerOffer[]; isWhole: boolean } {
    const offers: HandlerOffer[] = [];
    let chars = 0;
    for (const { variants, ...offered } of this.#offered.values()) {
      const declared = [...variants.values()].slice(0, OFFER_VARIANTS_MAX);
      for (const { policies } of declared) chars += policies.length;
      if (offers.length === OFFERS_LISTED_MAX || chars > OFFERS_MAX_CHARS) return { offers, isWhole: false };
      offers.push({ ...offered, declared });
    }
    return { offers, isWhole: true };
  }

  #count({ profile }: Offerer, declared: Declarations | null, by: 1 | -1): void {
    const { pool, handlers } = profile;
    for (const handler of handlers) {
      const key = `${pool}\u0000${handler}`;
      const offered = this.#offered.get(key) ?? { pool, handler, workers: 0, variants: new Map() };
      offered.workers += by;
      if (offered.workers > 0) this.#offered.set(key, offered);
      else this.#offered.delete(key);
    }
    for (const { handler, isHome, policies } of declared ?? []) {
      const variants = this.#offered.get(`${pool}\u0000${handler}`)?.variants;
      const text = `${isHome} ${policies}`;
      const variant = variants?.get(text) ?? { isHome, policies, workers: 0 };
      variant.workers += by;
      if (variant.workers > 0) variants?.set(text, variant);
      else variants?.delete(text);
    }
  }
}
