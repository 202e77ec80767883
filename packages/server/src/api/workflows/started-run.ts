import { SUB_WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { JobHandlers } from "../handlers/job-handlers.ts";

/** The part of an answer that tells of a new run. */

/** Largest number of pools and handlers about which one answer warns. */
const WARNED_MAX = 20;

/** @param first nodes that the run begins with; null: it waits. A repeat has the ids of the first request's run */
export function startedBody(run: string, nodes: readonly { name: string }[], first: readonly number[] | null) {
  const ids = (first ?? []).map((node) => [nodes[node]?.name, nodeExecutionId(run, node, null, 0)]);
  const executionIds = Object.fromEntries(ids) as Record<string, string>;
  const state = first === null ? ("PENDING" as const) : ("RUNNING" as const);
  return { state, nodes: nodes.length, startsAt: null, executionIds };
}

/** Warnings about nodes that no worker can run now: one for each pool and handler. */
export async function rootWarnings(
  tenant: Tenant,
  { offers }: Pick<JobHandlers, "offers">,
  roots: readonly { pool: string; handler: string }[],
): Promise<{ warnings?: string[] }> {
  const targets = new Map<string, { pool: string; handler: string }>();
  for (const { pool, handler } of roots) {
    if (handler === SUB_WORKFLOW_HANDLER) continue;
    if (targets.size < WARNED_MAX) targets.set(`${pool}\u0000${handler}`, { pool, handler });
  }
  const warnings: string[] = [];
  for (const { pool, handler } of targets.values()) {
    const warning = await offers.warning(tenant, pool, handler);
    if (warning !== null) warnings.push(warning);
  }
  return warnings.length === 0 ? {} : { warnings };
}
