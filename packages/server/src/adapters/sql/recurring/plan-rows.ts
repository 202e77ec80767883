import type { CatchUp, Plan } from "../../../domain/recurrence.ts";
import { planStateOf } from "../connection/codes.ts";
import type { Row } from "../connection/connections.ts";

/** Columns of a plan, from which `planFrom` makes the plan in memory. */
export const PLAN_COLUMNS = `p.version, p.state, p.next_fire_at, p.fired, p.previous, p.buffered_at, p.catch_ups, p.tzdata`;
export const PLAN_LENGTH = 8;

type PlanRow = [
  version: number,
  state: number,
  nextFireAt: number | null,
  fired: number,
  previous: string | null,
  bufferedAt: number | null,
  catchUps: string | null,
  tzdata: string,
];

/** @param row values of PLAN_COLUMNS */
export function planFrom(row: Row): Plan {
  const [version, state, nextFireAt, fired, previous, bufferedAt, catchUps, tzdata] = row as PlanRow;
  return {
    ...{ version, state: planStateOf(state), nextFireAt, fired, previous, bufferedAt, tzdata },
    catchUps: catchUps === null ? [] : (JSON.parse(catchUps) as CatchUp[]),
  };
}

/** Catch-ups as JSON text; NULL: there are none, because a partial index selects plans that have some. */
export function catchUpsText(catchUps: readonly CatchUp[]): string | null {
  return catchUps.length === 0 ? null : JSON.stringify(catchUps);
}
