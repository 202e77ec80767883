import type { ShardId } from "../../../domain/ids.ts";
import type { Plan, PlanState } from "../../../domain/recurrence.ts";
import { instantAt, u32, writeInstant } from "../bytes.ts";

/**
 * Record of a plan: a head of fixed places, which the functions read, the tag of the time zone data with its length, and the rest of the plan
 * as JSON. Codes never change, because stored records have them.
 */
const STATES: readonly PlanState[] = ["ACTIVE", "PAUSED", "FINISHED", "DELETED"];

const AT = { shard: 4, flow: 5, state: 9, next: 10, awaits: 16, zone: 17 } as const;
const HEAD = 18;
/** Bytes of the tag of time zone data, whose length has one byte. */
export const TAG_BYTES_MAX = 255;

export interface StoredPlan {
  revision: number;
  shard: ShardId;
  /** Number of the flow of the job. */
  flow: number;
  plan: Plan;
}

export function planStateCode(state: PlanState): number {
  return STATES.indexOf(state);
}

export function planRecord({ revision, shard, flow, plan }: StoredPlan): Buffer {
  const { state, nextFireAt, tzdata, ...rest } = plan;
  const head = Buffer.alloc(HEAD);
  head.writeUInt32BE(revision);
  head[AT.shard] = shard;
  head.writeUInt32BE(flow, AT.flow);
  head[AT.state] = planStateCode(state);
  writeInstant(head, nextFireAt, AT.next);
  head[AT.awaits] = isAwaiting(plan) ? 1 : 0;
  const tag = Buffer.from(tzdata);
  head[AT.zone] = tag.length;
  return Buffer.concat([head, tag, Buffer.from(JSON.stringify(rest))]);
}

/** Whether the plan waits for an execution to end. */
function isAwaiting({ state, nextFireAt, bufferedAt, catchUps }: Plan): boolean {
  return bufferedAt !== null || catchUps.length > 0 || (state === "ACTIVE" && nextFireAt === null);
}

export function storedPlan(bytes: Buffer): StoredPlan {
  const tagEnd = HEAD + (bytes[AT.zone] as number);
  const rest = JSON.parse(bytes.toString("utf8", tagEnd)) as Omit<Plan, "state" | "nextFireAt" | "tzdata">;
  const state = STATES[bytes[AT.state] as number] as PlanState;
  const nextFireAt = instantAt(bytes, AT.next);
  return {
    revision: bytes.readUInt32BE(),
    shard: bytes[AT.shard] as number,
    flow: bytes.readUInt32BE(AT.flow),
    plan: { ...rest, state, nextFireAt, tzdata: bytes.toString("utf8", HEAD, tagEnd) },
  };
}

/** Revision as the functions compare it. */
export function revisionBytes(revision: number): Buffer {
  return u32(revision);
}
