import type { ShardId } from "../../../domain/ids.ts";
import type { LookAhead, PollSummary } from "../../../ports/store.ts";
import { POOL_COLUMNS, poolFrom } from "../cluster/pools.ts";
import { QUEUE_CODES } from "../connection/codes.ts";
import type { Connections } from "../connection/connections.ts";
import { ofShards, shardMask } from "../connection/shard-mask.ts";
import { IS_DUE } from "../recurring/recurrences.ts";

/**
 * The first row by the order of the index. EXISTS would drop the order, and then PostgreSQL might not use that index.
 */
const pollText = (isTelling: boolean) => `
  SELECT
    (SELECT e.due_at FROM executions e
      WHERE e.queue = ${QUEUE_CODES.WAITING} AND e.due_at <= $2 AND ${ofShards("e.shard", "$1")}
      ORDER BY e.due_at, e.id LIMIT 1) IS NOT NULL,
    (SELECT e.lane FROM executions e WHERE e.queue = ${QUEUE_CODES.READY} ORDER BY e.lane LIMIT 1) IS NOT NULL,
    (SELECT p.next_fire_at FROM plans p WHERE ${IS_DUE("$3")} AND ${ofShards("p.shard", "$1")}
      ORDER BY p.next_fire_at, p.job_id LIMIT 1) IS NOT NULL,
    (SELECT c.id FROM commands c WHERE ${ofShards("c.shard", "$1")} ORDER BY c.id LIMIT 1) IS NOT NULL,
    (SELECT json_agg(json_build_array(${POOL_COLUMNS})) FROM (SELECT * FROM pools ORDER BY name) p)${
      isTelling
        ? `,
    (SELECT i.id FROM event_inbox i WHERE ${ofShards("i.shard", "$1")} ORDER BY i.id LIMIT 1) IS NOT NULL`
        : ""
    }`;
export const POLL = pollText(false);
export const POLL_TELLING = pollText(true);

type PollRow = [
  waiting: boolean,
  ready: boolean,
  plans: boolean,
  commands: boolean,
  pools: string | null,
  events?: boolean,
];

/** See Store.poll. @param isTelling whether the node writes lifecycle events */
export async function poll(
  db: Connections,
  shards: readonly ShardId[],
  ahead: LookAhead,
  isTelling: boolean,
): Promise<PollSummary> {
  const values = [shardMask(shards), ahead.dueUntil, ahead.firesUntil];
  const statement = isTelling ? { name: "look_out_telling", text: POLL_TELLING } : { name: "look_out", text: POLL };
  const [row] = await db.run("read", { ...statement, values });
  const [waiting, ready, plans, commands, pools, events = false] = row as PollRow;
  return {
    ...{ waiting, ready, plans, commands, events },
    pools: pools === null ? [] : JSON.parse(pools).map(poolFrom),
  };
}
