import type { EpochMs } from "../../../domain/ids.ts";
import { REQUESTS_KEPT_DAYS, type StoreRequests } from "../../../ports/store-requests.ts";
import type { AuditTrail } from "../audit/audit-trail.ts";
import type { Claim } from "../cluster/claim.ts";
import type { RaisedLevels } from "../commit/raised-levels.ts";
import type { Connections, Session } from "../connection/connections.ts";
import { Conditions } from "../connection/query.ts";
import type { EventInbox } from "../events/inbox.ts";
import { uuidFloor } from "../schema/partitions.ts";
import { REQUEST_COLUMNS, REQUEST_STATE_CODES, requestFrom, SUMMARY_COLUMNS, summaryFrom } from "./request-rows.ts";
import { takeIn } from "./take-in.ts";

/** Channel of the notices of new requests. Their payload is the schema of the store. */
const CHANNEL = "mainspring_requests";

interface RequestParts {
  trail: AuditTrail;
  levels: RaisedLevels;
  inbox: EventInbox;
  claim: Pick<Claim, "listen">;
  /** Schema of the store. */
  schema: string;
  now: () => number;
}

const GET = `SELECT ${REQUEST_COLUMNS} FROM job_requests WHERE tenant = $1 AND id = $2`;

/** See StoreRequests. */
export function requests(db: Connections, parts: RequestParts): StoreRequests {
  return {
    takeIn: (limits, judge) => takeIn(parts.trail, limits, judge, parts),
    watch: (tell) =>
      parts.claim.listen(CHANNEL, (payload) => {
        if (payload === null || payload === parts.schema) tell();
      }),
    get: async (tenant, id) => {
      const [row] = await db.run("query", { text: GET, values: [tenant, id] });
      return row === undefined ? null : requestFrom(row);
    },
    list: async (tenant, { state, before, limit }) => {
      const where = new Conditions().add("tenant = ?", tenant);
      // The state is part of the text, so that the planner takes the index that has the rows of this state.
      if (state !== null) where.fixed(`state = ${REQUEST_STATE_CODES[state]}`);
      if (before !== null) where.add("id < ?", before);
      const last = where.value(limit);
      const text = `SELECT ${SUMMARY_COLUMNS} FROM job_requests WHERE ${where.text} ORDER BY id DESC LIMIT ${last}`;
      return (await db.run("list", { text, values: where.values })).map(summaryFrom);
    },
  };
}

const DAY_MS = 86_400_000;
const PAGE = 1_000;

const RETIRE = `
  WITH page AS MATERIALIZED (SELECT id FROM job_requests WHERE id > $1 AND id < $2 ORDER BY id LIMIT ${PAGE}), gone AS (
    DELETE FROM job_requests r USING page p WHERE r.id = p.id AND (
      (r.state = ${REQUEST_STATE_CODES.TAKEN_IN} AND r.finished_at < $3) OR
      (r.state = ${REQUEST_STATE_CODES.REFUSED} AND r.finished_at < $4))
  )
  SELECT id FROM page ORDER BY id DESC LIMIT 1`;

/** Removes requests that were taken in or refused, once they need not be kept any more. */
export async function retireRequests(session: Session, now: EpochMs, days: number): Promise<void> {
  const takenBefore = now - REQUESTS_KEPT_DAYS * DAY_MS;
  for (let after = uuidFloor(0); ; ) {
    const values = [after, uuidFloor(takenBefore), takenBefore, now - days * DAY_MS];
    const [last] = await session.run({ text: RETIRE, values });
    if (last === undefined) return;
    after = last[0] as string;
  }
}
