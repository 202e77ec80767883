import { createHash } from "node:crypto";
import type { EpochMs } from "../../domain/ids.ts";
import { eventId, type LifecycleEvent } from "../../domain/lifecycle-event.ts";
import { idTimeMs } from "../../domain/occurrence-id.ts";
import { shownPool } from "../../domain/pool.ts";
import type { EventRow } from "../../ports/store-events.ts";

/** Columns of the table `events` that an insert fills, in the order of `lineOf`. */
export const EVENT_COLUMNS = [
  ...["id", "kind", "at", "day", "execution_id", "job_id", "workflow_id", "node", "item", "tenant", "pool", "handler"],
  ...["trigger", "attempt", "worker_id", "state", "reason", "scheduled_at", "created_at", "started_at", "finished_at"],
  ...["failures", "lost", "error_name", "step", "session", "job_version", "shard", "epoch", "seq", "is_live"],
] as const;

/** Value of `execution_id` in an event about a job. */
const NO_EXECUTION = "00000000-0000-0000-0000-000000000000";
/** Number of lines of one text, so that encoding holds up the event loop for a few milliseconds at most. */
const LINES_AT_ONCE = 500;

/** Origin of an event: a commit of a shard, or the history. */
export interface Origin {
  shard: number;
  epoch: number;
  seq: number;
  isLive: boolean;
}

/** Events of one commit, from an index to another. */
export interface Section {
  row: EventRow;
  from: number;
  to: number;
}

/**
 * Divides rows into groups of at most `limit` events each. A row with more events is divided, too.
 * @param limit 1 or more
 */
export function groupsOf(rows: readonly EventRow[], limit: number): Section[][] {
  const groups: Section[][] = [];
  let room = 0;
  for (const row of rows) {
    for (let from = 0; from < row.events.length; ) {
      if (room === 0) {
        groups.push([]);
        room = limit;
      }
      const to = Math.min(row.events.length, from + room);
      groups.at(-1)?.push({ row, from, to });
      room -= to - from;
      from = to;
    }
  }
  return groups;
}

/** Token of a group, which depends on nothing but shards, epochs and numbers of its rows. */
export function tokenOf(group: readonly Section[]): string {
  const hash = createHash("sha256");
  for (const { row, from, to } of group) hash.update(`${row.shard}/${row.epoch}/${row.seq}/${from}-${to}\n`);
  return hash.digest("hex");
}

/** Lines of a group, in texts of some hundred lines. */
export function* linesOf(group: readonly Section[]): Generator<string, void, undefined> {
  let lines: string[] = [];
  for (const { row, from, to } of group) {
    const { shard, epoch, seq, events } = row;
    const origin: Origin = { shard, epoch, seq, isLive: true };
    for (const event of events.slice(from, to)) {
      lines.push(lineOf(event, origin));
      if (lines.length < LINES_AT_ONCE) continue;
      yield lines.join("");
      lines = [];
    }
  }
  if (lines.length > 0) yield lines.join("");
}

/** Line of JSON for an event, with its end. */
export function lineOf(event: LifecycleEvent, { shard, epoch, seq, isLive }: Origin): string {
  const { executionId, at } = event;
  const line = {
    ...{ id: eventId(event), kind: event.kind, at: instant(at) },
    day: instant(executionId === null ? at : idTimeMs(executionId))?.slice(0, 10),
    ...{ execution_id: executionId ?? NO_EXECUTION, job_id: event.jobId, workflow_id: event.workflowId },
    ...{
      node: event.node,
      item: event.item,
      tenant: event.tenant,
      pool: shownPool(event.pool),
      handler: event.handler,
    },
    ...{ trigger: event.trigger, attempt: event.attempt, worker_id: event.workerId },
    ...{ state: event.state, reason: event.reason, scheduled_at: instant(event.scheduledAt) },
    ...{ created_at: instant(event.createdAt), started_at: instant(event.startedAt) },
    ...{ finished_at: instant(event.finishedAt), failures: event.failures, lost: event.lost },
    ...{
      error_name: event.errorName,
      step: event.step,
      session: event.session,
      job_version: event.jobVersion,
      shard,
      epoch,
      seq,
      is_live: Number(isLive),
    },
  } satisfies Record<(typeof EVENT_COLUMNS)[number], unknown>;
  return `${JSON.stringify(line)}\n`;
}

/** Instant in the form of ClickHouse, in UTC. */
function instant(at: EpochMs | null): string | null {
  return at === null ? null : new Date(at).toISOString().replace("T", " ").slice(0, -1);
}
