import { busy } from "../errors.ts";

/**
 * Largest total of the bodies of all requests in progress, in bytes. Without it, every connection could hold a batch in
 * memory.
 */
export const BODY_BUDGET_BYTES = 256 * 1024 * 1024;
/** Size below which bodies are not counted, in bytes, because the number of connections bounds them. */
const SMALL_BYTES = 16 * 1024;

/**
 * Budget for the memory of bodies, counted as it is allocated, so a request that announces a large body and does not
 * send it costs nothing.
 */
export class BodyBudget {
  readonly #maxBytes: number;
  readonly #hasSeveralTenants: () => boolean;
  readonly #byTenant = new Map<string, number>();
  #takenBytes = 0;
  #refusedOfTenants = 0;

  constructor(maxBytes: number = BODY_BUDGET_BYTES, hasSeveralTenants: () => boolean = () => false) {
    this.#maxBytes = maxBytes;
    this.#hasSeveralTenants = hasSeveralTenants;
  }

  /** Number of bodies that were refused because those of their own tenant filled its part. */
  get refusedOfTenants(): number {
    return this.#refusedOfTenants;
  }

  get takenBytes(): number {
    return this.#takenBytes;
  }

  /** Creates a share without any bytes. @param tenant tenant of the body; null: its bytes count for none */
  share(tenant: string | null = null): BodyShare {
    let bytes = 0;
    const growTo = (wantedBytes: number) => {
      const counted = wantedBytes > SMALL_BYTES ? wantedBytes : 0;
      const others = this.#takenBytes - bytes;
      // A single body is accepted whatever its size.
      if (counted > bytes && others > 0 && others + counted > this.#maxBytes) {
        throw busy("too-many-requests", "other large requests fill the memory for bodies", 1);
      }
      if (tenant !== null && counted > bytes) this.#demandPart(tenant, bytes, counted);
      this.#takenBytes = others + counted;
      if (tenant !== null) this.#count(tenant, counted - bytes);
      bytes = counted;
    };
    return { growTo, release: () => growTo(0) };
  }

  /**
   * Where there are several tenants, the bodies of one may take half of what those of the others leave. A single body is accepted
   * whatever its size.
   * @throws {ProblemError} 429
   */
  #demandPart(tenant: string, bytes: number, counted: number): void {
    const own = this.#byTenant.get(tenant) ?? 0;
    const part = (this.#maxBytes - (this.#takenBytes - own)) / 2;
    if (!this.#hasSeveralTenants() || own === bytes || own - bytes + counted <= part) return;
    this.#refusedOfTenants++;
    throw busy("too-many-requests", "other large requests of the tenant fill its part of the memory for bodies", 1);
  }

  #count(tenant: string, bytes: number): void {
    const own = (this.#byTenant.get(tenant) ?? 0) + bytes;
    if (own === 0) this.#byTenant.delete(tenant);
    else this.#byTenant.set(tenant, own);
  }
}

/** One body's share of the budget. */
export interface BodyShare {
  /** Raises the share. @throws {ProblemError} 429 while other bodies leave no room */
  growTo(bytes: number): void;
  release(): void;
}
