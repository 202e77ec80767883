import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import type { NewNode } from "../../ports/store-runs.ts";
import type { JobHandlers } from "../handlers/job-handlers.ts";

/** The part of an answer that tells of a run which has started. */

/** Largest number of pools and handlers about which one answer warns. */
const WARNED_MAX = 20;

/** @param first nodes that the run begins with. A repeat has the ids of the first request's run */
export function startedBody(run: string, nodes: readonly { name: string }[], first: readonly number[]) {
  const ids = first.map((node) => [nodes[node]?.name, nodeExecutionId(run, node, null, 0)]);
  const executionIds = Object.fromEntries(ids) as Record<string, string>;
  return { state: "RUNNING" as const, nodes: nodes.length, executionIds };
}

/** Warnings about nodes that no worker can run now: one for each pool and handler. */
export async function rootWarnings(
  { offers }: Pick<JobHandlers, "offers">,
  roots: readonly NewNode[],
): Promise<{ warnings?: string[] }> {
  const targets = new Map<string, { pool: string; handler: string }>();
  for (const { row } of roots) {
    const { pool, handler } = row;
    if (targets.size < WARNED_MAX) targets.set(`${pool}\u0000${handler}`, { pool, handler });
  }
  const warnings: string[] = [];
  for (const { pool, handler } of targets.values()) {
    const warning = await offers.warning(pool, handler);
    if (warning !== null) warnings.push(warning);
  }
  return warnings.length === 0 ? {} : { warnings };
}
