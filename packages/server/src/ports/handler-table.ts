import type { EpochMs } from "../domain/ids.ts";
import { HANDLERS_KEPT_MAX, HANDLERS_OF_TENANT_MAX, ownerOfPool } from "../domain/pool.ts";
import { type DeclaredHandler, type KeptHandler, type KeptHandlers, SEEN_EVERY_MS } from "./store-handlers.ts";

/** A kept handler with the version of the table that has written it. */
export interface HandlerRow extends KeptHandler {
  version: number;
}

/** Policies of handlers. See StoreHandlers. */
export class HandlerTable {
  readonly #rows: Map<string, HandlerRow>;

  constructor(rows: Iterable<HandlerRow> = []) {
    this.#rows = new Map(Array.from(rows, (row) => [keyOf(row), { ...row }]));
  }

  /** All rows by pool and handler. */
  rows(): ReadonlyMap<string, HandlerRow> {
    return this.#rows;
  }

  copy(): HandlerTable {
    return new HandlerTable(this.#rows.values());
  }

  read(known: string | null): KeptHandlers | null {
    const version = `${this.#latest()}-${this.#rows.size}`;
    if (version === known) return null;
    const rows = [...this.#rows.values()].sort((a, b) => order(a.pool, b.pool) || order(a.handler, b.handler));
    return { version, handlers: rows.map(keptOf) };
  }

  keep(declared: readonly DeclaredHandler[], at: EpochMs): boolean {
    const version = this.#latest() + 1;
    const changed = declared.filter((one) => this.#write(one, at, version));
    for (const home of changed.filter(({ isHome }) => isHome)) this.#moveHome(home, version);
    this.#forget();
    return changed.length > 0;
  }

  #write({ isNews, ...declared }: DeclaredHandler, at: EpochMs, version: number): boolean {
    const known = this.#rows.get(keyOf(declared));
    if (known !== undefined && known.seenAt < at - SEEN_EVERY_MS) known.seenAt = at;
    const { isHome, policies } = declared;
    const isChange =
      known === undefined
        ? isHome || policies !== "{}"
        : isNews && (known.policies !== policies || known.isHome !== isHome);
    if (!isChange) return false;
    this.#rows.set(keyOf(declared), { ...declared, declaredAt: at, seenAt: known?.seenAt ?? at, version });
    return true;
  }

  #moveHome(home: DeclaredHandler, version: number): void {
    for (const row of this.#rows.values()) {
      if (row.handler !== home.handler || row.pool === home.pool || !row.isHome) continue;
      if (ownerOfPool(row.pool) !== ownerOfPool(home.pool)) continue;
      if (row.version < version || row.pool < home.pool) Object.assign(row, { isHome: false, version });
    }
  }

  #forget(): void {
    const latest = [...this.#rows].sort(
      ([a, x], [b, y]) => y.seenAt - x.seenAt || y.version - x.version || order(a, b),
    );
    const counts = new Map<string | null, number>();
    for (const [key, { pool }] of latest) {
      const owner = ownerOfPool(pool);
      const count = (counts.get(owner) ?? 0) + 1;
      counts.set(owner, count);
      if (count > (owner === null ? HANDLERS_KEPT_MAX : HANDLERS_OF_TENANT_MAX)) this.#rows.delete(key);
    }
  }

  #latest(): number {
    return Math.max(0, ...Array.from(this.#rows.values(), ({ version }) => version));
  }
}

function keptOf({ pool, handler, isHome, policies, declaredAt, seenAt }: HandlerRow): KeptHandler {
  return { pool, handler, isHome, policies, declaredAt, seenAt };
}

function keyOf({ pool, handler }: Pick<KeptHandler, "pool" | "handler">): string {
  return `${pool}\u0000${handler}`;
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
