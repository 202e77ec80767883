/**
 * Feature level of this program: the messages between nodes, the commands and the states in the store that it
 * understands. It grows by one with a release that sends or writes anything that the release before does not
 * understand. Nodes of two adjacent levels can form a cluster, so that a cluster is upgraded node by node.
 */
export const FEATURE_LEVEL = 3;
/** Level of nodes that do not announce a level. */
export const FIRST_LEVEL = 1;

/** Cluster level from which each feature is used. A node that does not know a feature would act against it. */
const SINCE = {
  /**
   * Shards are not placed on draining nodes. An older node would still expect these nodes to take their shards over.
   */
  DRAINING: 2,
  /** Nodes of the first level do not plan recurring jobs, so the jobs of their shards would stand still. */
  RECURRING_JOBS: 2,
  /** Nodes of the first level neither request permits before they start work nor grant them. */
  POOL_LIMITS: 2,
  /**
   * A node that does not know the time zone data in force plans by its own data, and moves instants that others have
   * planned.
   */
  TIME_ZONE_DATA: 3,
  /** A node of an older level does not answer whether it applies new settings of pools. */
  POOL_CONFIRMATIONS: 3,
  /** An older api drops an explanation with an unknown reason, and would report that the owner is silent. */
  NO_FREE_SLOT_REASON: 3,
  /**
   * Shards are placed only on nodes that reach each other. An older node would still expect the other nodes to take
   * their shards over.
   */
  REACH: 3,
  /** Policies of handlers are filled into jobs: an API node of an older level would leave them out. */
  HANDLER_POLICIES: 3,
  /** A gateway of an older level does not answer when it is asked which handlers its workers offer. */
  HANDLER_OFFERS: 3,
  /**
   * A job's executions are found without an index of all of them. A node of an older level asks for them in a way that
   * only this index answers quickly.
   */
  LATER_EXECUTIONS: 3,
  /** An owner of an older level drops the records of handlers, and assigns later attempts without them. */
  DURABLE_STEPS: 3,
  /** An owner of an older level fails an attempt that suspends, and drops the commands of signals. */
  SUSPENSION: 3,
  /** An owner of an older level lets executions live for ever. */
  MAX_LIFETIME: 3,
  /** A gateway of an older level does not answer when it is asked for the log lines in its memory. */
  LOG_LINES: 3,
  /** A node of an older level reads neither runs of workflows nor the executions of their nodes. */
  WORKFLOWS: 3,
  /** A node of an older level drops the nodes that a handler adds to its run. */
  SPAWNED_NODES: 3,
  /** An owner of an older level takes the node of a sub-workflow for one that a worker runs. */
  SUB_WORKFLOWS: 3,
  /** A node of an older level writes no lifecycle events, and leaves those of submits in the inbox. */
  EVENTS: 3,
  /** An owner of an older level ends executions without the webhook of their `onFinish`. */
  WEBHOOKS: 3,
  /** A node of an older level does not understand which partitions of Kafka another node reads. */
  KAFKA_BUS: 3,
  /** A node of an older level cannot connect to a node that speaks TLS. */
  MESH_TLS: 3,
  /** An owner of an older level takes in no records of the log of requests. */
  INGEST: 3,
  /** A node of an older level knows only the keys of its settings, and lets each of them do everything. */
  API_KEYS: 3,
  /** A scheduler of an older level drops what others tell of the attempts of tenants, and a gateway allocates slots by ranks alone. */
  TENANT_SHARES: 3,
  /** A node of an older level assigns the work of suspended tenants, and shows the work of all of them to everybody. */
  TENANTS: 3,
  /** A node of an older level takes submits of a tenant past its quotas. */
  TENANT_QUOTAS: 3,
  /** A gateway of an older level knows no tenant of a worker, and an api node shows pools of tenants to everybody. */
  OWNED_POOLS: 3,
  /** A node of an older level assigns work without permits of its tenant, and grants none. */
  TENANT_LIMITS: 3,
  /** An owner of an older level gives every slot away. */
  POOL_HEADROOM: 3,
  /** A gateway of an older level admits every worker with a key, although the key needs a certificate. */
  WORKER_CERTIFICATES: 3,
  /** A program of an older level has no store on Redis. */
  REDIS_STORE: 3,
  /** A node of an older level keeps no series of its figures, and does not answer when it is asked for them. */
  SERIES: 3,
} as const;
export type Feature = keyof typeof SINCE;

/** A node, as far as its level is compared. */
export interface Levelled {
  level: number;
}

/** Lowest level among the living nodes, which every one of them understands. @param own level of the asking node */
export function clusterLevel(living: readonly Levelled[], own: number): number {
  return Math.min(own, ...living.map(({ level }) => level));
}

/** Whether every node understands the feature. @param level of the cluster */
export function isOn(feature: Feature, level: number): boolean {
  return level >= SINCE[feature];
}

/**
 * Node that keeps the cluster from using the feature: the one with the lowest level among those that lack it; null:
 * every node has the feature.
 */
export function lackingNode<Node extends Levelled>(nodes: readonly Node[], feature: Feature): Node | null {
  let oldest: Node | null = null;
  for (const node of nodes) {
    if (!isOn(feature, node.level) && (oldest === null || node.level < oldest.level)) oldest = node;
  }
  return oldest;
}

/** Cluster level that the feature needs. */
export function levelOf(feature: Feature): number {
  return SINCE[feature];
}

/** Whether nodes of these levels can work together. */
export function areAdjacent(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1;
}
