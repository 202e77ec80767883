import { type Candidate, isFinal } from "../../../domain/execution.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import type { ItemStates } from "../../../domain/workflow/map-counts.ts";
import type { LoadedRun, NodeExecution, StoredWorkflow, StoreRuns } from "../../../ports/store-runs.ts";
import { behind, idBytes, idOf } from "../bytes.ts";
import type { Kinds } from "../kinds.ts";
import { readRows } from "../owner-reads.ts";
import type { StoredExecution } from "../record.ts";
import type { RedisConnection } from "../redis-connection.ts";
import { graphName, readGraphs, readParts } from "./graphs.ts";
import { readItems } from "./items.ts";
import { PLACE_BYTES, readRuns, runKey, type StoredRun } from "./run-record.ts";

/** Runs whose records and indexes are read together. */
const PER_CALL = 16;
/** Nodes of one call. */
const NODES = 500;

type IsKnown = Parameters<StoreRuns["load"]>[1];

interface OpenRun {
  row: Candidate;
  run: StoredRun;
}

/**
 * See StoreRuns.load. Only the owner of a run, which asks, changes the run, so the reads need no common snapshot. Ends of nodes with
 * concurrency keys are the exception: an item that ends between the reads is among those that are final, because those come last.
 */
export async function loadRuns(
  db: RedisConnection,
  kinds: Kinds,
  ids: readonly ExecutionId[],
  isKnown: IsKnown,
): Promise<LoadedRun[]> {
  const graphs = new Graphs(db, isKnown);
  const found: LoadedRun[] = [];
  for (let from = 0; from < ids.length; from += PER_CALL) {
    const open = await openAmong(db, kinds, ids.slice(from, from + PER_CALL));
    for (const one of open) {
      const stored = await graphs.of(one);
      if (stored !== undefined) found.push(await loadOne(db, one, stored));
    }
  }
  return found;
}

async function openAmong(db: RedisConnection, kinds: Kinds, ids: readonly ExecutionId[]): Promise<OpenRun[]> {
  const [rows, runs] = [await readRows(db, ids), await readRuns(db, ids)];
  const byKind = await kinds.kindsOf(rows.flatMap((row) => row?.kind ?? []));
  return rows.flatMap((row, i) => {
    const [run, kind] = [runs[i] ?? null, byKind.get(row?.kind ?? -1)];
    return row === null || row.isFinal || run === null || kind === undefined ? [] : [{ row: row.candidate(kind), run }];
  });
}

/** Graphs of one load, which runs of one workflow share. */
class Graphs {
  readonly #db: RedisConnection;
  readonly #isKnown: IsKnown;
  readonly #read = new Map<string, StoredWorkflow | undefined>();

  constructor(db: RedisConnection, isKnown: IsKnown) {
    this.#db = db;
    this.#isKnown = isKnown;
  }

  /** @returns null: the caller has the graph; undefined: there is none */
  async of({ row: { jobVersion }, run: { workflow } }: OpenRun): Promise<StoredWorkflow | null | undefined> {
    if (this.#isKnown?.(workflow, jobVersion) === true) return null;
    const key = `${workflow} ${jobVersion}`;
    if (!this.#read.has(key)) {
      const [graph] = await readGraphs(this.#db, [graphName(workflow, jobVersion)]);
      this.#read.set(key, graph == null ? undefined : storedOf(graph));
    }
    return this.#read.get(key);
  }
}

function storedOf({ graph, definitions, output }: StoredWorkflow): StoredWorkflow {
  return { graph, definitions, output };
}

async function loadOne(db: RedisConnection, { row, run }: OpenRun, stored: StoredWorkflow | null): Promise<LoadedRun> {
  const { mode, paused, outcome, revision, workflow, kept, mapCounts } = run;
  // The parts come before the rows of their nodes, so that a node whose row is read has a part.
  const parts = await readParts(db, run.parts);
  const { id } = row;
  const [executions, signalled] = [await executionsOf(db, id), await signalledOf(db, id)];
  const items = ((await readItems(db, [id])).get(id) as ItemStates[]).filter(({ state }) => isFinal(state));
  return {
    ...{ row, workflow, mode, paused, outcome, revision, stored, kept, mapCounts, parts },
    ...{ executions, items, signalled },
  };
}

/** Executions of nodes that are no maps, and of items that are not final, by node and item. */
async function executionsOf(db: RedisConnection, run: ExecutionId): Promise<NodeExecution[]> {
  const ids: ExecutionId[] = [];
  for (let from: Buffer | "-" = "-"; ; ) {
    const key = db.key(runKey("ln", run));
    const [answer] = await db.call([["ZRANGE", key, from, "+", "BYLEX", "LIMIT", "0", `${NODES}`]]);
    const members = answer as Buffer[];
    ids.push(...members.map((member) => idOf(member, PLACE_BYTES)));
    if (members.length < NODES) break;
    from = behind(members.at(-1) as Buffer);
  }
  const nodes = (await readRows(db, ids)).filter((row) => row !== null).map(nodeOf);
  return [...nodes, ...(await liveItems(db, run))].sort(byPlace);
}

async function liveItems(db: RedisConnection, run: ExecutionId): Promise<NodeExecution[]> {
  const [maps, open] = await db.call([
    ["EXISTS", db.key(runKey("zn", run))],
    ["SMEMBERS", db.key(runKey("lo", run))],
  ]);
  if (maps === 0) return [];
  const rows = await readRows(
    db,
    (open as Buffer[]).map((id) => idOf(id)),
  );
  const live = rows.filter((row): row is StoredExecution => row !== null && !row.isFinal);
  return live.map(nodeOf).filter(({ item }) => item !== null);
}

function nodeOf({ id, ofNode, state, branch, queue }: StoredExecution): NodeExecution {
  return { id, node: ofNode?.node ?? 0, item: ofNode?.item ?? null, state, branch, isParked: queue === "PARKED" };
}

function byPlace(a: NodeExecution, b: NodeExecution): number {
  return a.node - b.node || (a.item ?? -1) - (b.item ?? -1) || (a.id < b.id ? -1 : 1);
}

/** Executions of nodes with signals that were sent to the nodes, and that no step has consumed. */
async function signalledOf(db: RedisConnection, run: ExecutionId): Promise<ExecutionId[]> {
  const [answer] = await db.call([["SMEMBERS", db.key(runKey("gr", run))]]);
  const ids = (answer as Buffer[]).map((id) => idOf(id)).sort();
  const counts = await db.call(ids.map((id) => ["HGET", db.key(Buffer.concat([Buffer.from("g"), idBytes(id)])), "#"]));
  return ids.filter((_, i) => Number.parseInt(String(counts[i] ?? "0")) > 0);
}
