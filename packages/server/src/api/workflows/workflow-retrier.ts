import type { RetriedWorkflow, WorkflowRetry } from "@mainspring/contract";
import { RETRY_BASES_MAX } from "@mainspring/contract/limits";
import { isFinal } from "../../domain/execution.ts";
import type { EpochMs, ExecutionId } from "../../domain/ids.ts";
import type { JobDefinition } from "../../domain/job.ts";
import { laneHash } from "../../domain/lane.ts";
import { rankOf } from "../../domain/rank.ts";
import { compensationOf, workOf } from "../../domain/workflow/compensation-number.ts";
import type { StoredNode } from "../../domain/workflow/definition.ts";
import type { WorkflowGraph } from "../../domain/workflow/graph.ts";
import { type KeptNodes, keptItems, partsToKeep, rangesOf } from "../../domain/workflow/kept-nodes.ts";
import type { MapCount } from "../../domain/workflow/map-counts.ts";
import { withParts } from "../../domain/workflow/spawned-parts.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Bus } from "../../ports/bus.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import type { JobView } from "../../ports/store-queries.ts";
import type { NewRetry, RetryOutcome, RunView, StoreRuns } from "../../ports/store-runs.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import { type FieldError, invalid, ProblemError, problem } from "../http/errors.ts";
import { refusalOf } from "../jobs/change-refusals.ts";
import type { PoolOrderings } from "../pools/pool-orderings.ts";
import { hintRows } from "../submit/hints.ts";
import { accepted, type Idempotency, type JobIntake } from "../submit/job-intake.ts";
import { candidateOf } from "../submit/new-job.ts";
import { beginningOf, beginningOfCompensation, makingRoots, startsAtOnce } from "./new-workflow.ts";
import type { RunPicture, RunReader } from "./run-picture.ts";
import { startedBody } from "./started-run.ts";
import { knownPicture } from "./workflow-routes.ts";

export interface RetrierDependencies {
  stores: Pick<TenantStores, "of">;
  store: { readonly runs: Pick<StoreRuns, "retry"> };
  bus: Bus;
  runtime: Runtime;
  orderings: PoolOrderings;
  runs: Pick<RunReader, "picture" | "read">;
  intake: Pick<JobIntake, "turns">;
}

type From = NonNullable<WorkflowRetry["from"]>;

interface Retried {
  replayed: boolean;
  body: RetriedWorkflow;
  /** Nodes that the run begins with; empty: the answer is that of an earlier request. */
  first: readonly StoredNode[];
}

/** Runs a part of a final run again, as a new run of the same graph that keeps the results of the other nodes. */
export class WorkflowRetrier {
  readonly #deps: RetrierDependencies;

  constructor(deps: RetrierDependencies) {
    this.#deps = deps;
  }

  /**
   * @param from names of nodes that run again besides those that have not SUCCEEDED; FAILED: no others
   * @throws {ProblemError} 400 for unknown names, 404, 409 with what would be right, 422
   * @throws {StoreUnavailable} there may or may not be a new run
   */
  async retry(
    tenant: Tenant,
    workflowId: ExecutionId,
    from: From,
    idempotency: Idempotency,
    note?: AuditNote,
  ): Promise<Retried> {
    const { stores, store, bus, runs } = this.#deps;
    // The first answer counts for a repeat, whatever has become of the runs since.
    const known = idempotency === null ? null : await stores.of(tenant).answered(idempotency);
    if (known !== null) return await this.#repeated(tenant, accepted(known).jobs[0]?.executionId ?? "", from);
    const picture = await knownPicture(runs, tenant, workflowId);
    const asked = await this.#make(tenant, picture, from, idempotency);
    const outcome = await store.runs.retry(asked, note);
    if (outcome.kind !== "ACCEPTED") throw refused(outcome);
    if (outcome.replayed) return await this.#repeated(tenant, outcome.executionId, from);
    const rows = asked.queue === "OPEN" ? asked.roots.map(({ row }) => row) : [candidateOf(asked)];
    hintRows(
      bus,
      rows.map((row) => ({ row, payload: null })),
    );
    const graph = graphWith(picture, asked.parts);
    const first = asked.outcome === undefined ? beginningOf(graph, asked).first : [];
    const body = bodyOf(asked, picture, asked.queue === "OPEN" ? first : null);
    return { replayed: false, body, first: first.map((node) => picture.nodes[node] as StoredNode) };
  }

  async #repeated(tenant: Tenant, workflowId: ExecutionId, from: From): Promise<Retried> {
    const { runs } = this.#deps;
    const picture = await knownPicture(runs, tenant, workflowId);
    const { executionId, jobId, retryOf, kept } = picture.run;
    const job = await this.#deps.stores.of(tenant).queries.getJob(jobId);
    const base = retryOf === null ? null : await runs.read(tenant, retryOf);
    const isResumed = base !== null && resumedOutcome(base, from) !== null;
    const begin = isResumed
      ? beginningOfCompensation(picture, kept)
      : beginningOf(picture.graph, { kept, mapCounts: keptCounts(picture, kept) });
    const isOpen = job === null || opensAtOnce(job, picture.run.createdAt, picture, begin.first);
    const named = isResumed ? [] : begin.first;
    const first = isOpen && !begin.hasMaps ? named : null;
    return { replayed: true, body: bodyOf({ executionId, jobId, retryOf: retryOf ?? "" }, picture, first), first: [] };
  }

  /** @throws {ProblemError} */
  async #make(tenant: Tenant, picture: RunPicture, from: From, idempotency: Idempotency): Promise<NewRetry> {
    const { stores, runtime, orderings, intake } = this.#deps;
    const { run, nodes } = picture;
    if (run.parent !== null) throw wrongState(ofParent(run.parent.run));
    const again = numbersOf(picture, from);
    const outcome = resumedOutcome(run, from);
    const { kept, parts } = outcome === null ? keptOf(picture, again) : keptOfCompensation(picture);
    const graph = graphWith(picture, parts);
    const mapCounts = keptCounts(picture, kept);
    const begin = outcome === null ? beginningOf(graph, { kept, mapCounts }) : beginningOfCompensation(picture, kept);
    if (begin.isOver) throw wrongState(NOTHING_RUNS);
    if (kept.length > RETRY_BASES_MAX) throw wrongState(tooManyBases(kept.length));
    const job = await stores.of(tenant).queries.getJob(run.jobId);
    if (job === null) throw new ProblemError(refusalOf({ kind: "NOT_FOUND" }));
    const orderingOf = await orderings.read();
    const createdAt = runtime.now();
    const definition = retriedDefinition(job, createdAt);
    const isOpen = opensAtOnce(job, createdAt, picture, begin.first) && !begin.hasMaps;
    const { pool, handler, requires, priority, concurrencyKey } = definition;
    const { shard, jobId, jobVersion } = run;
    const executionId = runtime.uuid();
    const { traceparent } = definition.policy;
    const ofNodes = { id: executionId, shard, tenant, jobVersion, scheduledAt: createdAt, traceparent };
    const roots = isOpen
      ? await intake.turns.steps(makingRoots(ofNodes, begin.first, nodes, orderingOf, createdAt))
      : [];
    return {
      ...{ jobId, executionId, tenant, shard, definition, payload: job.payload, createdAt },
      rank: rankOf(orderingOf(pool), createdAt, priority),
      laneHash: laneHash({ pool, tenant, handler, requires, concurrencyKey }),
      ...(isOpen
        ? { queue: "OPEN", deadline: createdAt + definition.policy.timeoutMs }
        : { queue: "READY", deadline: null }),
      ...{ roots, jobVersion, retryOf: run.executionId, kept, mapCounts, parts, idempotency },
      ...(outcome !== null && { outcome }),
    };
  }
}

function opensAtOnce(job: Pick<JobView, "definition">, at: EpochMs, { nodes }: RunPicture, first: readonly number[]) {
  return startsAtOnce(
    retriedDefinition(job, at),
    first.map((node) => workOf(nodes, node)),
  );
}

/** Outcome of a run whose failed compensation a retry goes on with; null: the retry runs nodes. */
function resumedOutcome({ reason, outcome }: Pick<RunView, "reason" | "outcome">, from: From): RunView["outcome"] {
  return from === "FAILED" && reason === "COMPENSATION_FAILED" ? outcome : null;
}

/** Definition of a further run of a workflow. Its time counts from now, and it is not too late to start. */
function retriedDefinition({ definition }: Pick<JobView, "definition">, scheduledAt: EpochMs): JobDefinition {
  return { ...definition, scheduledAt, policy: { ...definition.policy, startBefore: null } };
}

/**
 * Numbers of the nodes of a final run that run again besides those that have not SUCCEEDED.
 * @throws {ProblemError} 400: there is no such node; 409: the run has another state
 */
function numbersOf({ run, nodes }: RunPicture, from: From): Set<number> {
  if (!isFinal(run.state))
    throw wrongState(`the workflow is ${run.state}: only a final one is retried. Wait for its end, or cancel it`);
  if (from === "FAILED") {
    if (run.state === "SUCCEEDED") throw wrongState(SUCCEEDED);
    return new Set();
  }
  const numbers = new Map(nodes.map(({ name }, number) => [name, number]));
  const faults = from.flatMap((name, place): FieldError[] =>
    numbers.has(name) ? [] : [{ field: `from[${place}]`, message: `the workflow has no node ${JSON.stringify(name)}` }],
  );
  if (faults.length > 0) throw new ProblemError(invalid(faults.slice(0, FAULTS_MAX)));
  return new Set(from.map((name) => numbers.get(name) as number));
}

/** Largest number of unknown names that one answer tells of. */
const FAULTS_MAX = 100;

const SUCCEEDED =
  'the workflow SUCCEEDED: no part of it has failed. Name the nodes from which it is to run again, as {"from": ["NODE"]}';
const NOTHING_RUNS =
  'no node would run: each one SUCCEEDED, or is SKIPPED by its dependencies. Name nodes that SUCCEEDED, as {"from": ["NODE"]}';

function tooManyBases(count: number): string {
  const retry = "Retry from earlier nodes, or submit the workflow again";
  return `the run would keep results of ${count} earlier runs: at most ${RETRY_BASES_MAX} are possible. ${retry}`;
}

/** Nodes and items that a retry keeps, and the numbers of the first nodes of the parts that it has. */
interface Kept {
  kept: KeptNodes[];
  parts: number[];
}

/**
 * Nodes and items that a retry keeps, by the run that has their executions. A node whose compensation has run, or has begun
 * to, runs again.
 */
function keptOf(picture: RunPicture, again: ReadonlySet<number>): Kept {
  const { compensation, graph } = picture;
  const undone = graph.order.filter((node) => {
    const state = compensation?.stateOf(node);
    return state === "SUCCEEDED" || state === "FAILED";
  });
  const { nodes, maps, spawners } = partsToKeep(picture.progress, new Set([...again, ...undone]));
  const firsts = spawners.flatMap((spawner) => graph.spawnsOf.get(spawner)?.first ?? []);
  return { kept: byRun(picture, nodes, maps), parts: firsts };
}

/** Nodes and compensations that SUCCEEDED, for a run that goes on with the compensation. */
function keptOfCompensation(picture: RunPicture): Kept {
  const { compensation, graph, progress } = picture;
  const succeeded = graph.order.filter((node) => progress.stateOf(node) === "SUCCEEDED");
  const undone = graph.order.filter((node) => compensation?.stateOf(node) === "SUCCEEDED");
  const kept = byRun(picture, [...succeeded, ...Array.from(undone, compensationOf)], []);
  return { kept, parts: picture.parts.map(({ first }) => first) };
}

/** Graph of a run that has some parts of another one. @param firsts numbers of the first nodes of the parts */
function graphWith({ definedGraph, parts }: RunPicture, firsts: readonly number[]): WorkflowGraph {
  const wanted = new Set(firsts);
  return withParts(
    definedGraph,
    parts.filter(({ first }) => wanted.has(first)),
  );
}

/**
 * @param numbers numbers of nodes and compensations that SUCCEEDED
 * @param maps other maps, of which only SUCCEEDED items are kept
 */
function byRun(picture: RunPicture, numbers: readonly number[], maps: readonly number[]): KeptNodes[] {
  const byRun = new Map<ExecutionId, { nodes: [number, string | null][]; items: Map<number, string> }>();
  const of = (run: ExecutionId) => {
    const known = byRun.get(run) ?? { nodes: [], items: new Map<number, string>() };
    byRun.set(run, known);
    return known;
  };
  for (const number of numbers) {
    const own = { run: picture.run.executionId, branch: picture.executions.get(number)?.ofRun.branch ?? null };
    const { run, branch } = picture.kept.get(number) ?? own;
    of(run).nodes.push([number, branch]);
    // A map has no execution of its own, also if none of its items has SUCCEEDED in the run.
    if (picture.graph.isMap(number)) of(run).items.set(number, "");
  }
  for (const node of [...numbers.filter((number) => picture.graph.isMap(number)), ...maps]) {
    for (const [run, ranges] of itemsByRun(picture, node)) of(run).items.set(node, ranges);
  }
  return Array.from(byRun, ([run, { nodes: own, items }]) => ({
    ...{ run, nodes: own },
    ...(items.size > 0 && { items: [...items] }),
  }));
}

/** SUCCEEDED items of a map, by the run that has their executions. */
function itemsByRun({ run, items }: RunPicture, node: number): [ExecutionId, string][] {
  const found: [ExecutionId, string][] = run.kept.map((kept) => [kept.run, rangesOf(keptItems([kept], node))]);
  const own = items.find((states) => states.node === node && states.state === "SUCCEEDED");
  if (own !== undefined) found.push([run.executionId, rangesOf(own.items)]);
  return found.filter(([, ranges]) => ranges !== "");
}

/** Counts of the maps of which the retry keeps a part. Another map is counted anew. */
function keptCounts({ run }: RunPicture, kept: readonly KeptNodes[]): MapCount[] {
  const parts = new Set(kept.flatMap(({ nodes, items = [] }) => [...nodes, ...items].map(([node]) => node)));
  return run.mapCounts.filter(({ node, items }) => parts.has(node) && typeof items === "number");
}

function bodyOf(
  { executionId, jobId, retryOf }: Pick<NewRetry, "executionId" | "jobId" | "retryOf">,
  { nodes }: RunPicture,
  first: readonly number[] | null,
): RetriedWorkflow {
  return { workflowId: executionId, jobId, ...startedBody(executionId, nodes, first), retryOf };
}

function refused(outcome: Exclude<RetryOutcome, { kind: "ACCEPTED" }>): ProblemError {
  if (outcome.kind === "RESULTS_GONE") {
    const detail = `results of the run ${outcome.run}, which the retry would keep, were dropped because of their age`;
    return wrongState(`${detail}: submit the workflow again`);
  }
  if (outcome.kind === "KEY_REUSED") accepted(outcome);
  return new ProblemError(refusalOf(outcome as Exclude<typeof outcome, { kind: "KEY_REUSED" }>));
}

function wrongState(detail: string): ProblemError {
  return new ProblemError(problem("wrong-state", detail));
}

function ofParent(run: ExecutionId): string {
  return `the run is that of a sub-workflow: retry the workflow ${run}, of which it is a node`;
}
