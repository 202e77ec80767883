import type { ExecutionId } from "../../../domain/ids.ts";
import type { ItemStates } from "../../../domain/workflow/map-counts.ts";
import { EXECUTION_STATES } from "../record.ts";
import type { RedisConnection } from "../redis-connection.ts";
import { runKey } from "./run-record.ts";

/** Maps whose bitmaps one call reads, each for every state. A bitmap has up to 12.5 KB. */
const PER_CALL = 16;

/** Items of the maps of runs that have an execution, by node and state. */
export async function readItems(
  db: RedisConnection,
  runs: readonly ExecutionId[],
): Promise<Map<ExecutionId, ItemStates[]>> {
  const found = new Map<ExecutionId, ItemStates[]>();
  const answers = await db.call(runs.map((run) => ["SMEMBERS", db.key(runKey("zn", run))]));
  for (const [i, run] of runs.entries()) {
    const nodes = (answers[i] as Buffer[]).sort(Buffer.compare);
    const items: ItemStates[] = [];
    for (let from = 0; from < nodes.length; from += PER_CALL)
      items.push(...(await itemsOf(db, run, nodes.slice(from, from + PER_CALL))));
    found.set(run, items);
  }
  return found;
}

async function itemsOf(db: RedisConnection, run: ExecutionId, nodes: readonly Buffer[]): Promise<ItemStates[]> {
  const asked = nodes.flatMap((node) => EXECUTION_STATES.map((state, code) => ({ node, state, code })));
  const keys = asked.map(({ node, code }) => db.key(Buffer.concat([runKey("z", run), node, Buffer.from([code])])));
  const [bitmaps] = (await db.call([["MGET", ...keys]])) as [(Buffer | null)[]];
  return asked.flatMap(({ node, state }, i) => {
    const items = itemsIn(bitmaps[i] ?? null);
    return items.length === 0 ? [] : [{ node: node.readUInt32BE(), state, items: Uint32Array.from(items) }];
  });
}

/** Numbers of the bits that are set, ascending. */
function itemsIn(bitmap: Buffer | null): number[] {
  const items: number[] = [];
  for (const [at, byte] of bitmap?.entries() ?? [])
    for (let bit = 0; bit < 8; bit++) if ((byte & (0x80 >> bit)) !== 0) items.push(8 * at + bit);
  return items;
}
