import type { EpochMs } from "../../../domain/ids.ts";
import { SHARD_COUNT } from "../../../domain/ids.ts";
import type { Session } from "../connection/connections.ts";

/** Number of rows in one delete. */
const PAGE = 5_000;

/** Removes the oldest rows of a shard, and raises its floor to the last of them, so that readers learn of it. */
const RETIRE = `
  WITH page AS MATERIALIZED (
    SELECT shard, epoch, seq FROM outbox WHERE shard = $1 AND (epoch, seq) > ($2, $3) ORDER BY epoch, seq LIMIT ${PAGE}
  ), gone AS (
    DELETE FROM outbox o USING page p
    WHERE o.shard = p.shard AND o.epoch = p.epoch AND o.seq = p.seq AND o.written_at < $4
    RETURNING o.shard, o.epoch, o.seq
  ), last AS MATERIALIZED (
    SELECT shard, epoch, seq FROM gone ORDER BY epoch DESC, seq DESC LIMIT 1
  ), raised AS (
    INSERT INTO event_floors (shard, epoch, seq) SELECT shard, epoch, seq FROM last
    ON CONFLICT (shard) DO UPDATE SET epoch = EXCLUDED.epoch, seq = EXCLUDED.seq
    WHERE (EXCLUDED.epoch, EXCLUDED.seq) > (event_floors.epoch, event_floors.seq)
  )
  SELECT l.epoch, l.seq, (SELECT count(*) FROM gone)::int4 FROM last l`;

/** Removes rows of events that were written before this instant. */
export async function retireEvents(session: Session, keepFrom: EpochMs): Promise<void> {
  for (let shard = 0; shard < SHARD_COUNT; shard++) {
    let last: unknown[] | undefined = [0, 0, PAGE];
    while (last?.[2] === PAGE) {
      [last] = await session.run({ text: RETIRE, values: [shard, last[0], last[1], keepFrom] });
    }
  }
}
