export interface TimedNode {
  name: string;
  parents: readonly string[];
  startedAt: string | null;
  finishedAt: string | null;
}

/**
 * The chain of nodes that decides when the run ends: the node that ends last, the parent of it that ended last, and so on. A node
 * that runs ends after all that have ended.
 * @returns names, the first node first; empty: no node has started
 */
export function criticalPath(nodes: readonly TimedNode[]): string[] {
  const started = new Map(nodes.filter(({ startedAt }) => startedAt !== null).map((node) => [node.name, node]));
  const path: string[] = [];
  let last = latestOf([...started.values()]);
  while (last !== null) {
    path.unshift(last.name);
    // A node is removed when it is taken, so that the walk ends whatever the graph is.
    started.delete(last.name);
    last = latestOf(last.parents.flatMap((name) => started.get(name) ?? []));
  }
  return path;
}

function latestOf(nodes: readonly TimedNode[]): TimedNode | null {
  let latest: TimedNode | null = null;
  for (const node of nodes) if (latest === null || endOf(node) > endOf(latest)) latest = node;
  return latest;
}

function endOf({ finishedAt }: TimedNode): number {
  return finishedAt === null ? Number.POSITIVE_INFINITY : Date.parse(finishedAt);
}

/** Names of the nodes that a retry of some nodes runs again: these nodes, and all nodes behind them. */
export function rerunBy(nodes: readonly Pick<TimedNode, "name" | "parents">[], from: readonly string[]): Set<string> {
  const children = new Map<string, string[]>();
  for (const { name, parents } of nodes)
    for (const parent of parents) {
      const behind = children.get(parent);
      if (behind === undefined) children.set(parent, [name]);
      else behind.push(name);
    }
  const rerun = new Set(from);
  for (const name of rerun) for (const child of children.get(name) ?? []) rerun.add(child);
  return rerun;
}
