import type { Workflow, WorkflowGraphBody, WorkflowNode } from "@mainspring/contract";
import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import type { Page } from "../../api/answers.ts";
import { ask, queryOf, RequestFailed } from "../../api/client.ts";
import { follow, type ServerEvent } from "../../api/follow.ts";
import { useAnswer, useRetry } from "../../state/use-answer.ts";

/** Shortest time between two drawings of a run that has many events. */
const DRAW_MS = 300;
/** Nodes of one request. */
const PAGE_NODES = 1_000;
/** Nodes that a page keeps; a workflow and its added nodes may have more. */
export const NODES_MAX = 10_000;

/** A node with the nodes before it. */
export interface RunNode extends WorkflowNode {
  parents: string[];
}

export interface Run {
  run: Workflow | null;
  nodes: readonly RunNode[];
  failure: RequestFailed | null;
  reload(): void;
}

/** A run with its nodes. Events of the server keep it up to date until it is final. */
export function useRun(id: string): Run {
  const path = `workflows/${encodeURIComponent(id)}`;
  const run = useAnswer<Workflow>(path);
  const graph = useAnswer<WorkflowGraphBody>(`${path}/graph`);
  const nodes = useNodes(path);
  const [told, setTold] = useState<Workflow | null>(null);
  const isKnown = run.data !== null;
  useEffect(() => {
    if (!isKnown) return undefined;
    return follow(`${path}/events`, ({ kind, data }: ServerEvent) => {
      if (kind === "workflow") setTold(JSON.parse(data) as Workflow);
      // Handlers add nodes while a run goes on.
      if (kind === "node" && nodes.take(JSON.parse(data) as WorkflowNode)) graph.reload();
    });
  }, [path, isKnown]);
  const parents = useMemo(() => new Map(graph.data?.nodes.map((node) => [node.name, parentsOf(node)])), [graph.data]);
  const shown = useMemo(
    () => [...nodes.byName.values()].map((node) => ({ ...node, parents: parents.get(node.name) ?? [] })),
    [parents, nodes.version],
  );
  const reload = () => {
    setTold(null);
    for (const one of [run, graph, nodes]) one.reload();
  };
  return {
    run: told ?? run.data,
    nodes: graph.data === null ? [] : shown,
    failure: run.failure ?? graph.failure ?? nodes.failure,
    reload,
  };
}

function parentsOf({ dependsOn, addedBy }: WorkflowGraphBody["nodes"][number]): string[] {
  const named = [...new Set(dependsOn.map(({ node }) => node))];
  return named.length === 0 && addedBy !== null ? [addedBy] : named;
}

/** The nodes of a run by name, read in pages, with changes that events have told since. */
function useNodes(path: string) {
  const byName = useRef(new Map<string, WorkflowNode>()).current;
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const [version, draw] = useReducer((count: number) => count + 1, 0);
  const [reads, reload] = useReducer((count: number) => count + 1, 0);
  const [failure, setFailure] = useState<RequestFailed | null>(null);
  const again = useCallback(() => reload(null), []);
  useRetry(failure, again);
  useEffect(() => {
    const stop = new AbortController();
    const run = async () => {
      try {
        for await (const node of nodesOf(path, stop.signal)) byName.set(node.name, node);
        setFailure(null);
        draw(null);
      } catch (error) {
        if (!stop.signal.aborted && error instanceof RequestFailed) setFailure(error);
      }
    };
    void run();
    return () => stop.abort();
  }, [path, reads]);
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
    },
    [],
  );
  /** @returns whether the node is new */
  const take = (node: WorkflowNode): boolean => {
    const isNew = !byName.has(node.name);
    if (!isNew || byName.size < NODES_MAX) byName.set(node.name, node);
    timer.current ??= setTimeout(() => {
      timer.current = null;
      draw(null);
    }, DRAW_MS);
    return isNew;
  };
  return { byName, version, failure, take, reload: again };
}

async function* nodesOf(path: string, signal: AbortSignal): AsyncGenerator<WorkflowNode> {
  let cursor: string | undefined;
  for (let read = 0; read < NODES_MAX; read += PAGE_NODES) {
    const query = queryOf({ limit: PAGE_NODES, cursor });
    const { items, nextCursor } = await ask<Page<WorkflowNode>>(`${path}/nodes${query}`, { signal });
    yield* items;
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}
