import type { ExecutionFilter as AskedFilter } from "@mainspring/contract";
import type { EpochMs } from "../../domain/ids.ts";
import type { ExecutionFilter } from "../../ports/store-queries.ts";
import type { TenantStore } from "../../security/tenant-stores.ts";
import { invalid, ProblemError } from "../http/errors.ts";
import { idsWith } from "../http/id-range.ts";
import { parseInstant } from "../http/instants.ts";

const DAY_MS = 86_400_000;

/**
 * The store's filter for a list of executions.
 * @param now end of the time of a search for the text of an error that names no end
 * @param within place of the filter in the request, for the names of wrong fields; default: the query
 * @throws {ProblemError} 400: a search for the text of an error has no state, or a time of more than a day
 */
export function filterOf(own: TenantStore, asked: AskedFilter, now: EpochMs, within = ""): ExecutionFilter {
  const { state, pool, handler, since, until, idPrefix, label, error, jobId } = asked;
  if (error !== undefined) refuseWide(asked, now, within);
  return {
    ...(state !== undefined && { state }),
    ...own.inPool(pool),
    ...(handler !== undefined && { handler }),
    ...(since !== undefined && { since: Number(parseInstant(since)) }),
    ...(until !== undefined && { until: Number(parseInstant(until)) }),
    ...(jobId !== undefined && { jobId: jobId.toLowerCase() }),
    ...(idPrefix !== undefined && { ids: idsWith(idPrefix) }),
    ...(label !== undefined && label.length > 0 && { labels: label }),
    ...(error !== undefined && { error }),
  };
}

function refuseWide({ state, since, until }: AskedFilter, now: EpochMs, within: string): void {
  const errors = [];
  if (state === undefined)
    errors.push({
      field: `${within}state`,
      message: "must be given with error: the text is searched within one state",
    });
  const end = until === undefined ? now : Number(parseInstant(until));
  if (since === undefined || end - Number(parseInstant(since)) > DAY_MS) {
    const message = "must be given with error, at most 24 hours before until (default: now)";
    errors.push({ field: `${within}since`, message });
  }
  if (errors.length > 0) throw new ProblemError(invalid(errors));
}
