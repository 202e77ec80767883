import type { ExecutionId } from "../../../domain/ids.ts";
import type { LifecycleEvent } from "../../../domain/lifecycle-event.ts";
import { certainBlock, ownBlock } from "../../../ports/event-blocks.ts";
import type { ShardCommit, Submission } from "../../../ports/store.ts";
import { type InboxEvents, inboxOfJobs } from "../../../ports/told-events.ts";
import { idBytes, u32 } from "../bytes.ts";
import type { RedisArgument } from "../redis-connection.ts";
import { constantText } from "./delivery-record.ts";

/** Approximate bytes of an event, and of a delivery without its URL. */
const [EVENT_BYTES, DELIVERY_BYTES] = [100, 600];

/** Events of the jobs of a submission, as `telling.stage_jobs` of the library takes them. */
export function toldBySubmission({ jobs }: Submission): Buffer {
  // Without unique keys, the jobs are accepted together, so the jobs of a shard share a member of the inbox.
  const areOne = jobs.every(({ definition }) => definition.uniqueKey === null && definition.recurrence === null);
  const members = areOne ? inboxOfJobs(jobs) : jobs.flatMap((job) => inboxOfJobs([job]));
  return Buffer.concat(members.flatMap(memberParts));
}

function memberParts({ id, shard, events }: InboxEvents): Uint8Array[] {
  const block = certainBlock(events);
  return [idBytes(id), Buffer.from([shard]), u32(block.length), block];
}

/** Shard, id and block of members of inboxes, as `ms_leave` takes them. */
export function memberArguments(members: readonly InboxEvents[]): RedisArgument[] {
  return members.flatMap(({ id, shard, events }) => [`${shard}`, idBytes(id), Buffer.from(certainBlock(events))]);
}

/** Shard, id and block of the events of a change of a job, as its function takes them; empty texts: there are none. */
export function leftArguments(member: InboxEvents | undefined): RedisArgument[] {
  return member === undefined ? ["", "", ""] : memberArguments([member]);
}

/** Events and deliveries of a commit, as `telling.read` of the library takes them. @param at time of the commit */
export function toldByCommit({ told, deliveries = [] }: ShardCommit, at: number): RedisArgument[] {
  const delivered = deliveries.flatMap((delivery): RedisArgument[] => {
    const ids = [delivery.event.executionId, delivery.id, delivery.webhook].map(idBytes);
    return [Buffer.concat(ids), constantText(delivery, at)];
  });
  const behind = deliveries.length === 0 ? ["0"] : [`${deliveries.length}`, `${at}`, ...delivered];
  if (told === undefined || told.events.length + told.inbox.length === 0) return ["", ...behind];
  const inbox = Buffer.concat(told.inbox.toSorted().map(idBytes));
  return [`${told.seq}`, Buffer.from(ownBlock(told.events)), inbox, `${at}`, ...behind];
}

/** A commit without the events and deliveries of executions that the store refuses. */
export function withoutTold(commit: ShardCommit, refused: ReadonlySet<ExecutionId>): ShardCommit {
  const { told, deliveries = [] } = commit;
  const isKept = ({ executionId }: LifecycleEvent) => executionId === null || !refused.has(executionId);
  const rest = { ...commit, deliveries: deliveries.filter(({ event }) => isKept(event)) };
  return told === undefined ? rest : { ...rest, told: { ...told, events: told.events.filter(isKept) } };
}

/** Number of rows and bytes that the events and deliveries of a commit add to its call. */
export function toldWeight({ told, deliveries = [] }: ShardCommit): { count: number; bytes: number } {
  const [events, inbox] = [told?.events.length ?? 0, told?.inbox.length ?? 0];
  const bytes = deliveries.reduce((sum, { url }) => sum + DELIVERY_BYTES + url.length, EVENT_BYTES * events);
  return { count: inbox + deliveries.length, bytes };
}
