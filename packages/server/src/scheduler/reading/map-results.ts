import { PAYLOAD_BYTES_MAX } from "@mainspring/contract/limits";
import { isFinal } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { itemIds, type KeptNodes, runsOfItems } from "../../domain/workflow/kept-nodes.ts";
import { JsonValue } from "../../ports/references/json-value.ts";
import type { StoreRuns } from "../../ports/store-runs.ts";
import type { Turns } from "../../ports/turns.ts";

/** Items whose results one read brings. */
const READ_ITEMS = 1_000;
const NULL = Buffer.from("null");
const COMMA = Buffer.from(",");
const [OPEN, CLOSE] = [Buffer.from("["), Buffer.from("]")];

/** Results of the items of a map as one JSON array, with null for items that have not SUCCEEDED. */
export interface ResultArray {
  /** TOO_LARGE: the array has more bytes than a payload may have. */
  value: JsonValue | "TOO_LARGE";
  /** Whether every item has ended, so that the array never changes. */
  isFinal: boolean;
}

/**
 * Reads the results of a map in the order of its items, in turns of the event loop. It reads no further once the array is too large.
 * @param kept parts that the run keeps from earlier runs
 * @returns null: the items are not counted, or cannot be
 * @throws {StoreUnavailable}
 */
export async function readResultArray(
  runs: Pick<StoreRuns, "mapCounts" | "ends">,
  { run, map, kept }: { run: ExecutionId; map: number; kept: readonly KeptNodes[] },
  turns: Turns,
): Promise<ResultArray | null> {
  const size = (await runs.mapCounts([run])).get(run)?.find(({ node }) => node === map)?.items;
  if (typeof size !== "number") return null;
  const keepers = await turns.run(() => runsOfItems(kept, map));
  const pieces: Uint8Array[] = [OPEN];
  let bytes = OPEN.length + CLOSE.length + Math.max(0, size - 1);
  let ended = 0;
  for (let first = 0; first < size; ) {
    const ids = await turns.run(() => itemIds(run, map, keepers, { first, until: Math.min(size, first + READ_ITEMS) }));
    const { byId, looked } = await runs.ends(ids, PAYLOAD_BYTES_MAX);
    for (const [place, id] of ids.slice(0, looked).entries()) {
      const found = byId.get(id);
      const result = found?.state === "SUCCEEDED" ? (found.result ?? NULL) : NULL;
      if (found !== undefined && isFinal(found.state)) ended++;
      if (first + place > 0) pieces.push(COMMA);
      pieces.push(result);
      bytes += result.length;
    }
    if (bytes > PAYLOAD_BYTES_MAX) return { value: "TOO_LARGE", isFinal: false };
    first += looked;
  }
  pieces.push(CLOSE);
  return { value: await turns.run(() => new JsonValue(Buffer.concat(pieces))), isFinal: ended === size };
}
