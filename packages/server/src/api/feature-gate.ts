import { type Feature, levelOf } from "../domain/cluster/feature-level.ts";
import { ProblemError, problem } from "./http/errors.ts";

/** Returns a living node without the feature; null: every node has it, so it may be used. */
export type Lacking = (feature: Feature) => { address: string; version: string; level: number } | null;

const NAMES: Record<Feature, string> = {
  DRAINING: "draining",
  RECURRING_JOBS: "recurring jobs",
  POOL_LIMITS: "limits of pools",
  TIME_ZONE_DATA: "time zone data in the store",
  POOL_CONFIRMATIONS: "confirmations of pool settings",
  NO_FREE_SLOT_REASON: "the reason WORKER_HAS_NO_FREE_SLOT",
  REACH: "which nodes reach each other",
  HANDLER_POLICIES: "policies of handlers",
  HANDLER_OFFERS: "which handlers workers offer",
  LATER_EXECUTIONS: "the index of later executions",
  DURABLE_STEPS: "records of handlers",
  SUSPENSION: "sleep and signals",
  MAX_LIFETIME: "maxLifetimeSec",
  LOG_LINES: "log lines of attempts",
  WORKFLOWS: "workflows",
  SPAWNED_NODES: "nodes that handlers add to their workflows",
  SUB_WORKFLOWS: "sub-workflows",
  EVENTS: "lifecycle events",
  WEBHOOKS: "webhooks",
  KAFKA_BUS: "the bus on Kafka",
  MESH_TLS: "TLS between nodes",
  INGEST: "the log of requests in Kafka",
  API_KEYS: "API keys in the store",
  TENANT_SHARES: "fair shares of tenants over several nodes",
  TENANT_QUOTAS: "quotas of tenants",
  TENANTS: "tenants",
  OWNED_POOLS: "pools and workers of tenants",
  TENANT_LIMITS: "a limit of the attempts of a tenant",
  POOL_HEADROOM: "headroom of a pool",
  WORKER_CERTIFICATES: "keys whose workers need a certificate",
  REDIS_STORE: "a store on Redis",
  SERIES: "series of figures",
};

/**
 * Refuses a request for a feature that a living node lacks.
 * @throws {ProblemError} 409, which names the node and says what to do
 */
export function requireFeature(feature: Feature, lacking: Lacking | undefined): void {
  const node = lacking?.(feature) ?? null;
  if (node !== null) throw new ProblemError(problem("wrong-state", lackingText(feature, node)));
}

/** Explains for people that a node lacks a feature. @param otherwise alternative for the client */
export function lackingText(feature: Feature, node: NonNullable<ReturnType<Lacking>>, otherwise = ""): string {
  const { address, version, level } = node;
  return (
    `the node ${address} (${version}) has feature level ${level} and does not know of ${NAMES[feature]}: ` +
    `bring every node to level ${levelOf(feature)} first${otherwise}`
  );
}
