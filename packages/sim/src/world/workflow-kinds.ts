/** One in this number of seeds has workflows. Other seeds stay unchanged. */
const WORKFLOWS_EVERY = 10;
/** Number of seeds after which the kinds of workflows repeat. */
const KINDS_EVERY = 20;
/** Remainder of the seeds by KINDS_EVERY whose workflows have compensations. */
const COMPENSATIONS = 12;
/** Remainder of the seeds by KINDS_EVERY whose workflows have maps. */
const MAPS = 4;
/** Remainder of the seeds by KINDS_EVERY whose handlers add nodes. */
const SPAWNS = 16;
/** Remainder of the seeds by KINDS_EVERY whose nodes have concurrency keys. Every second one has maps as well, and the others compensations. */
const KEYED_NODES = 6;
/** Remainder of the seeds by KINDS_EVERY whose workflows have sub-workflows. */
const SUB_WORKFLOWS = 14;
/** Remainder of the seeds by KINDS_EVERY whose servers write lifecycle events. Half of them have nodes with keys, and half sub-workflows. */
const EVENTS = 10;
/** First of the seeds with events whose gateways tell the sessions of workers. */
const WORKER_EVENTS_SINCE = 170;
/** First of the seeds whose handlers add nodes beside keyed nodes, and beside maps, sub-workflows or compensations in turn. */
const MIXED_SINCE = 136;

/** Kinds of workflows in the world of a seed. */
export interface WorkflowKinds {
  /**
   * Whether payloads have references, runs wait for delays and concurrency keys, nodes wait for signals, clients pause and
   * retry runs, and workflows recur.
   */
  hasActs: boolean;
  hasKeyedNodes: boolean;
  hasCompensations: boolean;
  hasMaps: boolean;
  hasSubWorkflows: boolean;
  hasSpawns: boolean;
  /** Whether handlers add nodes in workflows of the other kinds. */
  isMixed: boolean;
}

/** Whether the servers of the seed write lifecycle events. */
export function hasEvents(seed: number): boolean {
  return seed % KINDS_EVERY === EVENTS && seed > EVENTS;
}

/** Whether the gateways of the seed write events of workers. */
export function tellsWorkers(seed: number): boolean {
  return hasEvents(seed) && seed >= WORKER_EVENTS_SINCE;
}

/**
 * Kinds of workflows in the world of a seed; null: the world has no workflows. Planted bugs are recorded with the first
 * seeds of some remainders, which stay as they were before their remainder had a kind.
 */
export function workflowKindsOf(seed: number): WorkflowKinds | null {
  const remainder = seed % KINDS_EVERY;
  const isOf = (kind: number) => remainder === kind && seed > kind;
  const isEven = seed % (2 * KINDS_EVERY) < KINDS_EVERY;
  const hasSpawns = isOf(SPAWNS);
  const isMixed = hasSpawns && seed >= MIXED_SINCE;
  const beside = isMixed ? Math.floor(seed / KINDS_EVERY) % 3 : null;
  const isOfKeys = isOf(KEYED_NODES) || (hasEvents(seed) && !isEven);
  const hasCompensations = remainder === COMPENSATIONS || (isOfKeys && isEven) || beside === 2;
  const hasMaps = isOf(MAPS) || (isOfKeys && !isEven) || beside === 0;
  const hasSubWorkflows = isOf(SUB_WORKFLOWS) || (hasEvents(seed) && isEven) || beside === 1;
  const isFurther = hasCompensations || hasMaps || isOfKeys || hasSubWorkflows || hasSpawns;
  if (seed % WORKFLOWS_EVERY !== WORKFLOWS_EVERY - 2 && !isFurther) return null;
  const mayAct = remainder === KINDS_EVERY - 2 || hasCompensations || hasMaps || hasSpawns;
  const hasActs = mayAct && !isOfKeys && !hasSubWorkflows;
  const hasKeyedNodes = isOfKeys || isMixed;
  return { hasActs, hasKeyedNodes, hasCompensations, hasMaps, hasSubWorkflows, hasSpawns, isMixed };
}
