import type { Candidate } from "../execution.ts";
import { type EpochMs, type ExecutionId, type ShardId, shardKey, shardOf } from "../ids.ts";
import { type Ordering, rankOf } from "../rank.ts";
import { tracedPolicy } from "../trace.ts";
import type { StoredWork } from "./definition.ts";
import { nodeExecutionId } from "./node-id.ts";

/** The part of a run that the executions of its nodes copy. */
export interface RunOfNode {
  id: ExecutionId;
  shard: ShardId;
  tenant: string;
  jobVersion: number;
  /** Planned start of the run. */
  scheduledAt: EpochMs;
  /** Traceparent that the executions of nodes keep; undefined: none. */
  traceparent: string | undefined;
}

/** Shard of a node's execution: that of its concurrency key, where the key's limit is kept, else that of its run. */
export function shardOfNode(
  run: Pick<RunOfNode, "id" | "shard" | "tenant">,
  { concurrencyKey }: Pick<StoredWork, "concurrencyKey">,
): ShardId {
  return concurrencyKey === undefined ? run.shard : shardOf(shardKey(run.tenant, concurrencyKey, run.id));
}

/**
 * Makes the execution of a ready node, or of its compensation. Its rank is that of its run, so that runs that have begun end before others begin.
 * Its lateness counts from its creation.
 * @param node number of the node, or of its compensation
 * @param item index of the item of a map; null: the node is no map
 */
export function nodeExecution(
  run: RunOfNode,
  node: number,
  definition: StoredWork,
  ordering: Ordering,
  createdAt: EpochMs,
  item: number | null = null,
): Candidate {
  const { pool, handler, requires, priority, policy, payloadBytes } = definition;
  const { concurrencyKey = null, concurrencyLimit = 1 } = definition;
  return {
    id: nodeExecutionId(run.id, node, item, 0),
    jobId: run.id,
    node,
    ...(item !== null && { item }),
    shard: shardOfNode(run, definition),
    tenant: run.tenant,
    pool,
    handler,
    requires,
    concurrencyKey,
    concurrencyLimit,
    hasUniqueKey: false,
    priority,
    rank: rankOf(ordering, run.scheduledAt, priority),
    dueAt: createdAt,
    scheduledAt: createdAt,
    policy: tracedPolicy(policy, run.traceparent),
    jobVersion: run.jobVersion,
    payloadBytes,
    state: "PENDING",
    queue: "READY",
    attempt: 0,
    failures: 0,
    lost: 0,
    startedAt: null,
  };
}
