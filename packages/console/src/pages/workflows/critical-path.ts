export interface TimedNode {
  name: string;
  parents: readonly string[];
  startedAt: string | null;
  finishedAt: string | null;
}

/**
 * The chain of nodes that decides when the run ends: the node that ends last, the parent of it that ended last, and so on. A node
 * that runs ends now.
 * @returns names, the first node first; empty: no node has started
 */
export function criticalPath(nodes: readonly TimedNode[], nowMs: number): string[] {
  const started = new Map(nodes.filter(({ startedAt }) => startedAt !== null).map((node) => [node.name, node]));
  const path: string[] = [];
  let last = latestOf([...started.values()], nowMs);
  while (last !== null) {
    path.unshift(last.name);
    // A node is removed when it is taken, so that the walk ends whatever the graph is.
    started.delete(last.name);
    last = latestOf(
      last.parents.flatMap((name) => started.get(name) ?? []),
      nowMs,
    );
  }
  return path;
}

function latestOf(nodes: readonly TimedNode[], nowMs: number): TimedNode | null {
  let latest: TimedNode | null = null;
  for (const node of nodes) if (latest === null || endOf(node, nowMs) > endOf(latest, nowMs)) latest = node;
  return latest;
}

function endOf({ finishedAt }: TimedNode, nowMs: number): number {
  return finishedAt === null ? nowMs : Date.parse(finishedAt);
}

/** Names of the nodes that a retry of some nodes runs again: these nodes, and all nodes behind them. */
export function rerunBy(nodes: readonly Pick<TimedNode, "name" | "parents">[], from: readonly string[]): Set<string> {
  const children = new Map<string, string[]>();
  for (const { name, parents } of nodes)
    for (const parent of parents) children.set(parent, [...(children.get(parent) ?? []), name]);
  const rerun = new Set(from);
  for (const name of rerun) for (const child of children.get(name) ?? []) rerun.add(child);
  return rerun;
}
