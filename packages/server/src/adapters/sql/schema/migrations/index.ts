import { initial } from "./0001-initial.ts";
import { operating } from "./0002-operating.ts";
import { changedJobs } from "./0003-changed-jobs.ts";
import { nodes } from "./0004-nodes.ts";
import { recurringJobs } from "./0005-recurring-jobs.ts";
import { poolLimits } from "./0006-pool-limits.ts";
import { cluster } from "./0007-cluster.ts";
import { timeZoneData } from "./0008-time-zone-data.ts";
import { reach } from "./0009-reach.ts";
import { nodeSecrets } from "./0010-node-secrets.ts";
import { lists } from "./0011-lists.ts";
import { handlerPolicies } from "./0012-handler-policies.ts";
import { laterExecutions } from "./0013-later-executions.ts";
import { steps } from "./0014-steps.ts";
import { attemptLogs } from "./0015-attempt-logs.ts";
import { flows } from "./0016-flows.ts";
import { signals } from "./0017-signals.ts";
import { workflows } from "./0018-workflows.ts";
import { retriedRuns } from "./0019-retried-runs.ts";
import { workflowActs } from "./0020-workflow-acts.ts";
import { compensations } from "./0021-compensations.ts";
import { maps } from "./0022-maps.ts";
import { subWorkflows } from "./0025-sub-workflows.ts";
import { parts } from "./0026-parts.ts";
import { events } from "./0027-events.ts";
import { eventSinks } from "./0028-event-sinks.ts";
import { webhooks } from "./0029-webhooks.ts";
import { stepEvents } from "./0030-step-events.ts";
import { requests } from "./0031-requests.ts";
import { ingest } from "./0032-ingest.ts";
import { apiKeys } from "./0033-api-keys.ts";
import { tenants } from "./0034-tenants.ts";
import { audit } from "./0035-audit.ts";
import { tenantQuotas } from "./0036-tenant-quotas.ts";
import { ownedPools } from "./0037-owned-pools.ts";
import { headroom } from "./0039-headroom.ts";
import { workerCertificates } from "./0040-worker-certificates.ts";
import { executionRuns } from "./0041-execution-runs.ts";

export interface Migration {
  /** Version of the schema after the migration; versions grow. */
  version: number;
  name: string;
  /** One or more statements. A released migration is never edited; a later migration corrects its mistakes. */
  sql: string;
  /**
   * Feature level below which programs cannot work with the schema from here on; default: the migration changes nothing
   * for them.
   */
  needsLevel?: number;
}

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: "initial", sql: initial },
  { version: 2, name: "operating", sql: operating },
  { version: 3, name: "changed jobs", sql: changedJobs },
  { version: 4, name: "nodes", sql: nodes },
  { version: 5, name: "recurring jobs", sql: recurringJobs },
  { version: 6, name: "pool limits", sql: poolLimits },
  { version: 7, name: "cluster", sql: cluster },
  { version: 8, name: "time zone data", sql: timeZoneData },
  { version: 9, name: "reach", sql: reach },
  { version: 10, name: "node secrets", sql: nodeSecrets },
  { version: 11, name: "lists", sql: lists },
  { version: 12, name: "handler policies", sql: handlerPolicies },
  { version: 13, name: "later executions", sql: laterExecutions },
  { version: 14, name: "steps", sql: steps },
  { version: 15, name: "attempt logs", sql: attemptLogs },
  { version: 16, name: "flows", sql: flows },
  { version: 17, name: "signals", sql: signals },
  { version: 18, name: "workflows", sql: workflows },
  { version: 19, name: "retried runs", sql: retriedRuns },
  { version: 20, name: "workflow acts", sql: workflowActs },
  { version: 21, name: "compensations", sql: compensations },
  { version: 22, name: "maps", sql: maps },
  { version: 25, name: "sub-workflows", sql: subWorkflows },
  { version: 26, name: "parts", sql: parts },
  { version: 27, name: "events", sql: events },
  { version: 28, name: "event sinks", sql: eventSinks },
  { version: 29, name: "webhooks", sql: webhooks },
  { version: 30, name: "step events", sql: stepEvents },
  { version: 31, name: "requests", sql: requests },
  { version: 32, name: "ingest", sql: ingest },
  { version: 33, name: "api keys", sql: apiKeys },
  { version: 34, name: "tenants", sql: tenants },
  { version: 35, name: "audit", sql: audit },
  { version: 36, name: "tenant quotas", sql: tenantQuotas },
  { version: 37, name: "owned pools", sql: ownedPools },
  { version: 39, name: "headroom", sql: headroom },
  { version: 40, name: "worker certificates", sql: workerCertificates },
  { version: 41, name: "execution runs", sql: executionRuns },
];
