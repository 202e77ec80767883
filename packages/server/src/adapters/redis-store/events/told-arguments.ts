import type { ExecutionId } from "../../../domain/ids.ts";
import { certainBlock, ownBlock } from "../../../ports/event-blocks.ts";
import type { ShardCommit, Submission } from "../../../ports/store.ts";
import { type InboxEvents, inboxOfJobs } from "../../../ports/told-events.ts";
import { idBytes, u32 } from "../bytes.ts";
import type { RedisArgument } from "../redis-connection.ts";

const NO_BYTES = Buffer.alloc(0);

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

/** Events of a commit, as `telling.read` of the library takes them. @param at time of the commit */
export function toldByCommit({ told }: ShardCommit, at: number): RedisArgument[] {
  if (told === undefined || told.events.length + told.inbox.length === 0) return [""];
  const inbox = told.inbox.toSorted().map(idBytes);
  return [
    `${told.seq}`,
    Buffer.from(ownBlock(told.events)),
    inbox.length === 0 ? NO_BYTES : Buffer.concat(inbox),
    `${at}`,
  ];
}

/** A commit without the events of executions that the store refuses. */
export function withoutTold(commit: ShardCommit, refused: ReadonlySet<ExecutionId>): ShardCommit {
  const { told } = commit;
  if (told === undefined) return commit;
  const events = told.events.filter(({ executionId }) => executionId === null || !refused.has(executionId));
  return { ...commit, told: { ...told, events } };
}

/** Number of rows and bytes that the events of a commit add to its call. */
export function toldWeight({ told }: ShardCommit): { count: number; bytes: number } {
  return told === undefined ? { count: 0, bytes: 0 } : { count: told.inbox.length, bytes: 100 * told.events.length };
}
