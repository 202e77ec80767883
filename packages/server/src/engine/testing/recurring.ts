import type { EpochMs } from "../../domain/ids.ts";
import { shardKey, shardOf } from "../../domain/ids.ts";
import { DEFAULT_POLICY, type JobDefinition } from "../../domain/job.ts";
import { DEFAULT_RECURRENCE, type Plan, type RecurrenceRule, scheduleOf } from "../../domain/recurrence.ts";
import { firstFire } from "../../domain/schedule/fires.ts";
import type { Recurrence } from "../../ports/store-recurrences.ts";
import { START } from "./story.ts";

export const MINUTE = 60_000;

/** A rule that fires every minute, on the minute, with all defaults. */
export function ruleOf(fields: Partial<RecurrenceRule> = {}): RecurrenceRule {
  return {
    times: { type: "INTERVAL", everyMs: MINUTE, mode: "FIXED_RATE" },
    startAt: null,
    endAt: null,
    maxFires: null,
    startWithinMs: null,
    ...DEFAULT_RECURRENCE,
    ...fields,
  };
}

export function planOf(fields: Partial<Plan> = {}): Plan {
  return {
    version: 1,
    state: "ACTIVE",
    nextFireAt: START + MINUTE,
    fired: 0,
    previous: null,
    bufferedAt: null,
    catchUps: [],
    tzdata: "2026a",
    ...fields,
  };
}

let made = 0;

/** A recurring job that was submitted at the start of the story. */
export function recurringJob(rule: Partial<RecurrenceRule> = {}, fields: Partial<JobDefinition> = {}): Recurrence {
  const jobId = `f0000000-0000-7000-8000-${String(++made).padStart(12, "0")}`;
  const recurrence = ruleOf(rule);
  const definition: JobDefinition = {
    ...{ name: null, pool: "default", handler: "echo", requires: [], priority: 5, scheduledAt: START },
    ...{ policy: DEFAULT_POLICY, concurrencyKey: null, concurrencyLimit: 1, uniqueKey: null, labels: {} },
    ...fields,
    recurrence,
  };
  const shard = shardOf(shardKey("default", definition.concurrencyKey, jobId));
  const nextFireAt = firstFire(scheduleOf(recurrence, jobId, START), START) as EpochMs;
  const rest = { tenant: "default", createdAt: START, version: 1, payloadBytes: 0, revision: 1, open: [] };
  return { jobId, shard, definition, plan: planOf({ nextFireAt }), ...rest };
}
