import type { NewRecurringJob } from "../../../ports/store.ts";
import { payloadName } from "../bodies.ts";
import { INSTANT_MAX, idBytes, NO_BYTES } from "../bytes.ts";
import { uniqueField } from "../record.ts";
import { graphsOf, namesOf, nestedOf } from "../runs/new-workflow.ts";
import type { PackedJob } from "../submit.ts";
import { rowText } from "./job-rows.ts";
import { planRecord, TAG_BYTES_MAX } from "./plan-record.ts";

/** Arguments of a recurring job, as those of other jobs: its id, plan, name, row, tenant, and the name of its body. */
export function packRecurring(job: NewRecurringJob, flow: number): PackedJob {
  const { jobId, tenant, shard, definition, payload, createdAt, firstFireAt, tzdata } = job;
  const record = planRecord({
    ...{ revision: 1, shard, flow },
    plan: {
      ...{ version: 1, state: "ACTIVE", nextFireAt: firstFireAt, fired: 0, previous: null, bufferedAt: null },
      ...{ catchUps: [], tzdata },
    },
  });
  const own = { tenant, shard, version: 1, definition, createdAt, updatedAt: createdAt, deletedAt: null };
  const row = rowText({ ...own, nested: nestedOf(job) }, payload?.length ?? null);
  const bodies = [...(payload === null ? [] : [{ name: payloadName(jobId, 1), bytes: payload }]), ...graphsOf(job)];
  const name = definition.name === null ? NO_BYTES : uniqueField(tenant, definition.name);
  return {
    args: [idBytes(jobId), record, name, row, tenant, namesOf(bodies), NO_BYTES],
    bytes: record.length + row.length,
    bodies,
    rows: 1,
  };
}

/** @returns reason why the store cannot hold a recurring job whose fields fit; null: it can */
export function unfitRecurring({ createdAt, definition, firstFireAt, tzdata }: NewRecurringJob): string | null {
  const instants = [createdAt, definition.scheduledAt, firstFireAt];
  const beyond = instants.find((instant) => instant < 0 || instant > INSTANT_MAX);
  if (beyond !== undefined) return `${beyond} is no time from 0 to ${INSTANT_MAX} ms`;
  const bytes = Buffer.byteLength(tzdata);
  return bytes > TAG_BYTES_MAX ? `tzdata has ${bytes} bytes, and at most ${TAG_BYTES_MAX} are possible` : null;
}
