import { type CaseKey, type Costs, figureOf } from "./costs.ts";

interface MemoryPart {
  name: string;
  mib: number;
  from: readonly CaseKey[];
}

const FLEET_NODES = 3;

/**
 * Memory of a node, at most: the straight line through a node with all workers of a fleet and one with a third of them,
 * and all executions that a node may hold. @returns null: the report lacks a case for it
 */
export function memoryOf(load: { workers: number; recurring: number }, costs: Costs): MemoryPart[] | null {
  const line = fleetLine(costs);
  const jobs = jobsOf(line?.baseMib ?? 0, costs);
  if (line === null || jobs === null) return null;
  const recurring = recurringOf(load.recurring, costs);
  if (recurring === null) return null;
  return [
    { name: "a node without work", mib: line.baseMib, from: ["fleet1", "fleet3"] },
    { name: "workers", mib: load.workers * line.workerMib, from: ["fleet1", "fleet3"] },
    jobs,
    ...recurring,
  ];
}

function fleetLine(costs: Costs): { baseMib: number; workerMib: number } | null {
  const [one, three] = [figureOf(costs, "fleet1", "residentMiB"), figureOf(costs, "fleet3", "residentMiB")];
  const workers = costs.cases.fleet1?.size ?? null;
  if (one === null || three === null || workers === null) return null;
  const workerMib = (one - three / FLEET_NODES) / (workers - workers / FLEET_NODES);
  const baseMib = one - workerMib * workers;
  // Measurements that differ more by chance than by workers make no line.
  return workerMib > 0 && baseMib > 0 ? { baseMib, workerMib } : null;
}

/** Memory of all executions that a node may hold. A node with ready executions was measured as a whole. */
function jobsOf(baseMib: number, costs: Costs): MemoryPart | null {
  const [resident, measured] = [figureOf(costs, "ready", "residentMiB"), costs.cases.ready?.size ?? null];
  if (resident === null || measured === null) return null;
  const mib = (Math.max(0, resident - baseMib) / measured) * costs.limits.entries;
  return { name: `${costs.limits.entries.toLocaleString("en")} executions in memory`, mib, from: ["ready"] };
}

/** Memory of recurring jobs at rest, at most: the whole node of the case, in proportion. */
function recurringOf(recurring: number, costs: Costs): MemoryPart[] | null {
  if (recurring === 0) return [];
  const [resident, measured] = [figureOf(costs, "recurring", "residentMiB"), costs.cases.recurring?.size ?? null];
  if (resident === null || measured === null) return null;
  return [{ name: "recurring jobs", mib: (recurring / measured) * resident, from: ["recurring"] }];
}
