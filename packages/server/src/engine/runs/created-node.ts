import type { Candidate } from "../../domain/execution.ts";
import { rankOf } from "../../domain/rank.ts";
import type { StoredNode } from "../../domain/workflow/definition.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import { poolOf, type Step } from "../state.ts";
import type { Run } from "./runs.ts";

/**
 * Makes the execution of a ready node. Its rank is that of its run, so that runs that have begun end before others begin.
 * Its lateness counts from its creation.
 */
export function createdNode({ state, now }: Step, run: Run, node: number): Candidate {
  const { pool, handler, requires, priority, policy, payloadBytes } = run.read.definitions[node] as StoredNode;
  const { row } = run.read;
  return {
    id: nodeExecutionId(run.id, node, null, 0),
    jobId: run.id,
    node,
    shard: run.shard,
    tenant: row.tenant,
    pool,
    handler,
    requires,
    concurrencyKey: null,
    concurrencyLimit: 1,
    hasUniqueKey: false,
    priority,
    rank: rankOf(poolOf(state, pool), row.scheduledAt, priority),
    dueAt: now,
    scheduledAt: now,
    policy,
    jobVersion: row.jobVersion,
    payloadBytes,
    state: "PENDING",
    queue: "READY",
    attempt: 0,
    failures: 0,
    lost: 0,
    startedAt: null,
  };
}
