import { FEATURE_LEVEL, isOn } from "../../domain/cluster/feature-level.ts";
import type { Incarnation } from "../../domain/ids.ts";
import { POINT_MS, POINTS, type ToldSeries } from "../../domain/series/figures.ts";
import { MergedSeries } from "../../domain/series/merge.ts";
import type { Bus } from "../../ports/bus.ts";
import { type KnownNode, type Leases, LeasesUnavailable } from "../../ports/leases.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Inbox } from "../inbox.ts";

const ASK_TIMEOUT_MS = 1_000;
/** Points of one answer, so that no message holds the event loop for long. */
const PIECE_POINTS = 60;
/** Time that every node has to add a point before the API asks for it, in milliseconds. */
const SETTLE_MS = 2_000;

export interface SeriesDependencies {
  bus: Bus;
  inbox: Inbox;
  runtime: Runtime;
  leases: Pick<Leases, "list">;
}

/** A living node that told nothing, or not everything. OLDER: its program keeps no series. */
export interface SilentNode {
  nodeId: Incarnation;
  address: string;
  reason: "NO_ANSWER" | "OLDER";
}

export interface GatheredSeries {
  cluster: MergedSeries;
  /** Series of each node that answered, by its address. */
  nodes: ReadonlyMap<string, MergedSeries>;
  silent: SilentNode[];
}

type Asked = Pick<KnownNode, "incarnation" | "address" | "level">;

/** Asks all living nodes for their last hour, and merges the answers. Waits a second for them at most. */
export async function gatherSeries(deps: SeriesDependencies): Promise<GatheredSeries> {
  const { bus, runtime } = deps;
  const living = await livingNodes(deps);
  const able = living.filter(({ level }) => isOn("SERIES", level));
  const until = Math.floor((runtime.now() - SETTLE_MS) / POINT_MS);
  const from = until - POINTS;
  const starts = Array.from({ length: POINTS / PIECE_POINTS }, (_, piece) => from + piece * PIECE_POINTS);
  const ids = able.map(({ incarnation }) => incarnation);
  const pieces = await Promise.all(starts.map((start) => askPiece(deps, ids, start)));
  const told = (node: Asked) => pieces.flatMap((piece) => piece.get(node.incarnation) ?? []);
  const merged = (series: readonly ToldSeries[]) => new MergedSeries(from, POINTS, series);
  const answered = able.filter((node) => told(node).length > 0);
  const silent = living.filter((node) => told(node).length < starts.length);
  return {
    cluster: merged(answered.flatMap(told)),
    nodes: new Map(answered.map((node) => [node.address || bus.node, merged(told(node))])),
    silent: silent.map(({ incarnation: nodeId, address, level }) => {
      return { nodeId, address, reason: isOn("SERIES", level) ? "NO_ANSWER" : "OLDER" };
    }),
  };
}

/** Living nodes by their leases; the connected ones while the leases are away. This node is always one of them. */
async function livingNodes({ bus, leases }: SeriesDependencies): Promise<Asked[]> {
  const known = await leases.list().catch((error: unknown) => {
    if (error instanceof LeasesUnavailable) return null;
    throw error;
  });
  const connected = () => bus.connected().map((node) => ({ incarnation: node, address: node, level: FEATURE_LEVEL }));
  const living: Asked[] = known?.filter(({ isLiving }) => isLiving) ?? connected();
  if (living.some(({ incarnation }) => incarnation === bus.node)) return living;
  return [...living, { incarnation: bus.node, address: bus.node, level: FEATURE_LEVEL }];
}

async function askPiece(
  { bus, inbox, runtime }: SeriesDependencies,
  nodes: readonly Incarnation[],
  from: number,
): Promise<ReadonlyMap<Incarnation, ToldSeries>> {
  const request = runtime.uuid();
  const answered = inbox.collectBySender(request, nodes.length, ASK_TIMEOUT_MS);
  const until = from + PIECE_POINTS;
  for (const node of nodes) bus.send({ node, role: "node" }, { kind: "ASK_SERIES", request, from, until });
  const told = [...(await answered)];
  return new Map(told.flatMap(([node, answer]) => (answer.kind === "SERIES" ? [[node, answer.series] as const] : [])));
}
