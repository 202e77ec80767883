import type { EventKind } from "@mainspring/contract/enums";
import type { LifecycleEvent } from "../../domain/lifecycle-event.ts";
import { shownPool } from "../../domain/pool.ts";
import type { Tenant } from "../../ports/authenticator.ts";

/** Wanted values of each field; a field that is left out has any value. */
export interface WantedEvents {
  kind?: readonly EventKind[];
  pool?: readonly string[];
  handler?: readonly string[];
  jobId?: readonly string[];
  workflowId?: readonly string[];
  executionId?: readonly string[];
  workerId?: readonly string[];
}

/**
 * Test whether an event is the tenant's and has one of the wanted values in each field. A run of a workflow counts as an event of itself.
 * Events about workers are those of the tenant that owns the pool, and those of the tenant `default` where the pool is shared.
 */
export function eventFilter(tenant: Tenant, wanted: WantedEvents): (event: LifecycleEvent) => boolean {
  const kinds = setOf(wanted.kind);
  const pools = setOf(wanted.pool);
  const handlers = setOf(wanted.handler);
  const jobs = setOf(wanted.jobId, true);
  const runs = setOf(wanted.workflowId, true);
  const executions = setOf(wanted.executionId, true);
  const workers = setOf(wanted.workerId);
  return ({ tenant: owner, kind, pool, handler, jobId, workflowId, executionId, workerId }) =>
    owner === tenant &&
    (kinds?.has(kind) ?? true) &&
    (pools?.has(shownPool(pool)) ?? true) &&
    (handlers?.has(handler) ?? true) &&
    (jobs?.has(jobId ?? "") ?? true) &&
    (executions?.has(executionId ?? "") ?? true) &&
    (workers?.has(workerId ?? "") ?? true) &&
    (runs === null || runs.has(workflowId ?? "") || runs.has(executionId ?? ""));
}

function setOf(values: readonly string[] | undefined, areIds = false): ReadonlySet<string> | null {
  if (values === undefined) return null;
  return new Set(areIds ? values.map((value) => value.toLowerCase()) : values);
}
