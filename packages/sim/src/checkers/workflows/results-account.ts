import { isDeepStrictEqual } from "node:util";
import { type ExecutionRow, itemsOfRanges, type RunRow } from "@mainspring/server/testing";
import type { Ledger } from "../recurring/ledger.ts";

/** Facts that the checker of references has. */
interface Facts {
  ledger: Ledger;
  /** Number of the event that made an execution final. */
  endedIn: ReadonlyMap<string, number>;
  resultOf(row: ExecutionRow): unknown;
}

/** Results of the items of maps, by the rows. */
export class ResultsAccount {
  readonly #facts: Facts;
  /** Numbers of items by map, and the events that wrote them. */
  readonly #sizes = new Map<string, { size: number; in: number }>();
  /** Executions of items by map. An item that a retry keeps has the execution of the earlier run. */
  readonly #items = new Map<string, Map<number, string>>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  added({ id, job, node, item }: ExecutionRow): void {
    if (node !== null && item !== null) this.#put(mapOf(job.jobId, node), item, id);
  }

  /** @param number number of the present event */
  counted(run: string, counts: RunRow["mapCounts"], number: number): void {
    for (const { node, items } of counts) {
      const map = mapOf(run, node);
      if (typeof items === "number" && !this.#sizes.has(map)) this.#sizes.set(map, { size: items, in: number });
    }
  }

  keeps({ run, kept }: RunRow): void {
    for (const { run: base, items = [] } of kept) {
      for (const [node, ranges] of items) {
        const earlier = this.#items.get(mapOf(base, node));
        for (const item of itemsOfRanges(ranges)) this.#put(mapOf(run, node), item, earlier?.get(item) ?? "");
      }
    }
  }

  /** The store went back to a state in which runs have other counts. */
  wentBack(runs: readonly RunRow[], number: number): void {
    this.#sizes.clear();
    for (const { run, mapCounts } of runs) this.counted(run, mapCounts, number);
  }

  /** Results of a map as the rows are now; null: its items are not counted. */
  now(run: string, node: number): unknown[] | null {
    const map = mapOf(run, node);
    const size = this.#sizes.get(map)?.size;
    return size === undefined ? null : Array.from({ length: size }, (_, item) => this.#resultOf(map, item));
  }

  /**
   * Whether a reader may have got a value for the results of a map.
   * @param since number of the event from which on the reader may see either a new state or the one before
   */
  mayBe(seen: unknown, run: string, node: number, since: number): boolean {
    const map = mapOf(run, node);
    const counted = this.#sizes.get(map);
    if (seen === null) return (counted?.in ?? Number.POSITIVE_INFINITY) > since;
    if (!Array.isArray(seen) || seen.length !== counted?.size) return false;
    return seen.every((value, item) => {
      const isNew = (this.#facts.endedIn.get(this.#items.get(map)?.get(item) ?? "") ?? 0) > since;
      return (isNew && value === null) || isDeepStrictEqual(value, this.#resultOf(map, item));
    });
  }

  #resultOf(map: string, item: number): unknown {
    const row = this.#facts.ledger.get(this.#items.get(map)?.get(item) ?? "")?.row;
    return row?.state === "SUCCEEDED" ? this.#facts.resultOf(row) : null;
  }

  #put(map: string, item: number, id: string): void {
    const items = this.#items.get(map) ?? new Map<number, string>();
    this.#items.set(map, items.set(item, id));
  }
}

function mapOf(run: string, node: number): string {
  return `${run} ${node}`;
}
