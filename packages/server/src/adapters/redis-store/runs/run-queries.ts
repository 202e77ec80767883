import type { EpochMs, ExecutionId, JobId } from "../../../domain/ids.ts";
import type { Listing, Page, StoreQueries } from "../../../ports/store-queries.ts";
import type { NodeFilter, NodeSummary, RunFilter, RunSummary, RunView } from "../../../ports/store-runs.ts";
import { behind, idBytes, idOf, instantBytes, u32 } from "../bytes.ts";
import type { Kind, Kinds } from "../kinds.ts";
import { readRows } from "../owner-reads.ts";
import type { StoredExecution } from "../record.ts";
import { readJobs, type StoredJob } from "../recurring/job-rows.ts";
import { EXAMINED, type Examined, newestOfIndex, pageOf } from "../recurring/newest.ts";
import type { RedisArgument, RedisConnection } from "../redis-connection.ts";
import { graphName, readGraphs, readParts, readSizes } from "./graphs.ts";
import { bodiesOf } from "./payloads.ts";
import { PLACE_BYTES, readRuns, runKey, type StoredRun } from "./run-record.ts";

/** Largest number of retries that a run names. */
const RETRIES = 20;
/** The id of a run and its creation time denote the same moment, but by different clocks. */
const ID_SLACK_MS = 3_600_000;

/** Row of a run with its kind and its job; null: the run is that of a sub-workflow. */
interface Run {
  row: StoredExecution;
  kind: Kind;
  job: StoredJob | null;
}

/** Reads of runs for the api. */
export class RunQueries implements Pick<StoreQueries, "listRuns" | "getRun" | "listNodes"> {
  readonly #db: RedisConnection;
  readonly #kinds: Kinds;

  constructor(db: RedisConnection, kinds: Kinds) {
    this.#db = db;
    this.#kinds = kinds;
  }

  async listRuns(tenant: string, filter: RunFilter, { after, limit }: Page): Promise<Listing<RunSummary>> {
    const { parent, since, until } = filter;
    const index = this.#db.key(parent === undefined ? `rr${tenant}` : runKey("rc", parent));
    const bounds = {
      from: since === undefined ? "-" : Buffer.concat([Buffer.from("["), instantBytes(since - ID_SLACK_MS)]),
      until: upperBound(after, until),
    };
    const examined = await newestOfIndex(this.#db, index, bounds, EXAMINED);
    const asked = (await this.#runs(examined.ids)).filter((run) => isAsked(run, tenant, filter));
    const page = pageOf(asked, limit, examined, ({ row }) => row.id);
    const ids = page.items.map(({ row }) => row.id);
    return { items: await this.#summaries(page.items, await readRuns(this.#db, ids)), next: page.next };
  }

  async getRun(tenant: string, id: ExecutionId): Promise<RunView | null> {
    const [run] = await this.#runs([id]);
    if (run === undefined || run.kind.tenant !== tenant) return null;
    const [stored = null] = await readRuns(this.#db, [id]);
    const [summary] = await this.#summaries([run], [stored]);
    const [workflow, version] = [workflowOf(run.row, stored), run.row.jobVersion];
    const [graph] = await readGraphs(this.#db, [graphName(workflow, version)]);
    if (stored === null || graph == null) return null;
    const { row } = run;
    const [payload, result] = await bodiesOf(this.#db, row);
    return {
      ...(summary as RunSummary),
      ...{ revision: stored.revision, workflow, graph: graph.graph, definitions: graph.definitions, payload, result },
      ...{ error: row.error, kept: stored.kept, mapCounts: stored.mapCounts, counts: stored.counts },
      parts: await readParts(this.#db, stored.parts),
      retriedBy: await this.#retriesOf(id),
    };
  }

  async listNodes(
    tenant: string,
    run: ExecutionId,
    filter: NodeFilter,
    { after, limit }: Page,
  ): Promise<Listing<NodeSummary>> {
    const examined = await this.#nodesBehind(run, filter, after);
    const rows = (await readRows(this.#db, examined.ids)).filter((row) => row !== null);
    const kinds = await this.#kinds.kindsOf(rows.map(({ kind }) => kind));
    const { state } = filter;
    const asked = rows.filter((row) => {
      return kinds.get(row.kind)?.tenant === tenant && (state === undefined || row.state === state);
    });
    const items = asked.map((row) => nodeSummary(row, kinds.get(row.kind) as Kind));
    return pageOf(items, limit, examined, ({ executionId }) => executionId);
  }

  /** Runs by their ids. Other executions are left out. */
  async #runs(ids: readonly ExecutionId[]): Promise<Run[]> {
    const rows = (await readRows(this.#db, ids)).filter((row) => row?.isRun === true) as StoredExecution[];
    const kinds = await this.#kinds.kindsOf(rows.map(({ kind }) => kind));
    const jobIds = new Set(rows.flatMap((row) => (row.ofNode === null ? [row.jobId] : [])));
    const jobs = await readJobs(this.#db, this.#kinds, [...jobIds]);
    const byId = new Map<JobId, StoredJob>(jobs.flatMap((job) => (job === null ? [] : [[job.jobId, job]])));
    return rows.map((row) => ({ row, kind: kinds.get(row.kind) as Kind, job: byId.get(row.jobId) ?? null }));
  }

  /** @param stored records of the runs, in their order */
  async #summaries(runs: readonly Run[], stored: readonly (StoredRun | null)[]): Promise<RunSummary[]> {
    const graphs = runs.map(({ row }, i) => graphName(workflowOf(row, stored[i]), row.jobVersion));
    const sizes = await readSizes(this.#db, graphs);
    return runs.map(({ row, kind, job }, i) => {
      const { mode = "RUNNING", paused = false, outcome = null } = stored[i] ?? {};
      const { name = null, labels = {} } = job?.definition ?? {};
      const nodes = sizes[i] as number;
      return { ...row.summary(kind), name, labels, nodes, mode, paused, outcome, parent: row.ofNode };
    });
  }

  /** Retries of a run, the newest first. */
  async #retriesOf(run: ExecutionId): Promise<ExecutionId[]> {
    const all = { from: "-", until: "+" };
    return (await newestOfIndex(this.#db, this.#db.key(runKey("rt", run)), all, RETRIES)).ids;
  }

  /** Nodes by their places behind that of an execution. */
  async #nodesBehind(
    run: ExecutionId,
    { node, withoutItems = false }: NodeFilter,
    after: ExecutionId | null,
  ): Promise<Examined> {
    const [last] = after === null ? [] : await readRows(this.#db, [after]);
    if (after !== null && last?.ofNode?.run !== run) return { ids: [], isLast: true };
    const own = node === undefined ? "-" : Buffer.concat([Buffer.from("["), u32(node)]);
    const from = last == null ? own : behind(memberOf(last));
    const until = node === undefined ? "+" : behind(u32(node + 1));
    const indexes = (withoutItems ? ["ln"] : ["ln", "li"]).map((letters) => this.#db.key(runKey(letters, run)));
    const limit = ["LIMIT", "0", `${EXAMINED + 1}`] as const;
    const answers = await this.#db.call(indexes.map((index) => ["ZRANGE", index, from, until, "BYLEX", ...limit]));
    const members = answers.flatMap((answer) => answer as Buffer[]).sort(Buffer.compare);
    const ids = members.slice(0, EXAMINED).map((member) => idOf(member, PLACE_BYTES));
    return { ids, isLast: members.length <= EXAMINED };
  }
}

/** Position behind which a list of runs, the newest first, begins. */
function upperBound(after: ExecutionId | null, until: EpochMs | undefined): RedisArgument {
  const bounds = [
    ...(after === null ? [] : [idBytes(after)]),
    ...(until === undefined ? [] : [instantBytes(until + ID_SLACK_MS)]),
  ];
  const [first] = bounds.sort(Buffer.compare);
  return first === undefined ? "+" : behind(first);
}

function isAsked({ row, kind, job }: Run, tenant: string, { state, name, since = 0, until }: RunFilter): boolean {
  return (
    kind.tenant === tenant &&
    (state === undefined || row.state === state) &&
    (name === undefined || job?.definition.name === name) &&
    row.createdAt >= since &&
    (until === undefined || row.createdAt < until)
  );
}

/** Id of the workflow of a run: that of the sub-workflow, or of the job. */
function workflowOf(row: StoredExecution, run: StoredRun | null | undefined): JobId {
  return run?.workflow ?? row.jobId;
}

function memberOf({ id, ofNode }: StoredExecution): Buffer {
  return Buffer.concat([u32(ofNode?.node ?? 0), u32(ofNode?.item ?? 0), idBytes(id)]);
}

function nodeSummary(row: StoredExecution, kind: Kind): NodeSummary {
  const { run, node, item } = row.ofNode as NonNullable<StoredExecution["ofNode"]>;
  return { ...row.summary(kind), ofRun: { run, node, item, branch: row.branch }, error: row.error };
}
