import { DEFAULT_WEIGHT } from "../../domain/tenant.ts";

/** Jobs that a tenant of the default weight may take from the queue in its turn. */
const QUANTUM_JOBS = 32;
/** Taken places of a line above which it is compacted. */
const COMPACT_AT = 1_024;

/** A submission in the queue. */
export interface Queued {
  tenant: string;
  jobs: number;
  bytes: number;
}

interface Line<Q> {
  items: Q[];
  /** Index of the first item that was not taken. */
  head: number;
  /** Jobs that the tenant may still take in its turn. */
  deficit: number;
  /** Whether its turn has begun. */
  hasTurn: boolean;
}

/**
 * Submissions in front of the store, in one line for each tenant. Groups are taken from the lines by deficit round robin, so a
 * tenant with many or large submissions holds up no other. One tenant alone has a plain queue.
 */
export class FairQueue<Q extends Queued> {
  readonly #weightOf: (tenant: string) => number;
  /** Lines that have items; the first one has the turn. */
  readonly #lines = new Map<string, Line<Q>>();

  /** @param weightOf weight of a tenant, 1 to 1000 */
  constructor(weightOf: (tenant: string) => number) {
    this.#weightOf = weightOf;
  }

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  push(item: Q): void {
    const line = this.#lines.get(item.tenant);
    if (line === undefined) this.#lines.set(item.tenant, { items: [item], head: 0, deficit: 0, hasTurn: false });
    else line.items.push(item);
  }

  /** Takes a group within the limits. One item is taken whatever its size. */
  take(limits: { jobs: number; bytes: number }): Q[] {
    const group: Q[] = [];
    const left = { ...limits };
    const fits = ({ jobs, bytes }: Q) => group.length === 0 || (jobs <= left.jobs && bytes <= left.bytes);
    for (let tenant = this.#first; tenant !== null; tenant = this.#first) {
      const line = this.#lines.get(tenant) as Line<Q>;
      const isAlone = this.#lines.size === 1;
      if (!line.hasTurn) line.deficit += Math.max(1, (QUANTUM_JOBS * this.#weightOf(tenant)) / DEFAULT_WEIGHT);
      line.hasTurn = true;
      for (let item = line.items[line.head]; item !== undefined; item = line.items[line.head]) {
        if (!isAlone && item.jobs > line.deficit) break;
        // The turn goes on with the next group.
        if (!fits(item)) return group;
        line.head++;
        line.deficit = Math.max(0, line.deficit - item.jobs);
        left.jobs -= item.jobs;
        left.bytes -= item.bytes;
        group.push(item);
      }
      this.#endTurn(tenant, line);
    }
    return group;
  }

  get #first(): string | null {
    for (const tenant of this.#lines.keys()) return tenant;
    return null;
  }

  /** A line without items leaves, and with it the rest of its turn. */
  #endTurn(tenant: string, line: Line<Q>): void {
    this.#lines.delete(tenant);
    if (line.head === line.items.length) return;
    if (line.head > COMPACT_AT && line.head * 2 > line.items.length) {
      line.items = line.items.slice(line.head);
      line.head = 0;
    }
    line.hasTurn = false;
    this.#lines.set(tenant, line);
  }
}
