import type { WorkflowAccepted, WorkflowDeduplicated, WorkflowEnvelope } from "@mainspring/contract";
import { DEFAULT_RUN_TIMEOUT_MS, WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import type { EpochMs } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import type { JobDefinition } from "../../domain/job.ts";
import type { WorkflowNode } from "../../domain/workflow/definition.ts";
import type { NewWorkflow } from "../../ports/store-runs.ts";
import type { Turns } from "../../ports/turns.ts";
import { type Lacking, requireFeature } from "../feature-gate.ts";
import type { JobHandlers } from "../handlers/job-handlers.ts";
import { PolicyBook } from "../handlers/kept-policies.ts";
import type { JobSlice } from "../http/body/json-parts.ts";
import { type FieldError, invalid, ProblemError } from "../http/errors.ts";
import type { PoolNames } from "../pools/pool-names.ts";
import type { PoolOrderings } from "../pools/pool-orderings.ts";
import { contradictions, jobDefinition } from "../submit/job-definition.ts";
import { accepted, type Idempotency, type JobIntake } from "../submit/job-intake.ts";
import { compileTemplates, refuseLarge } from "./compile-templates.ts";
import { compileWorkflow } from "./compile-workflow.ts";
import { makingWorkflow } from "./new-workflow.ts";
import { nodeDefinition } from "./node-definition.ts";
import { Faults, nodeFault } from "./node-faults.ts";
import { type ReceivedNodes, readNodes } from "./read-nodes.ts";
import { rootWarnings, startedBody } from "./started-run.ts";
import { WorkflowIntake, type WorkflowIntakeDependencies } from "./workflow-intake.ts";

const NO_POLICIES = new PolicyBook([]);

export interface WorkflowSubmitterDependencies extends WorkflowIntakeDependencies {
  intake: Pick<JobIntake, "turns" | "wasAnswered">;
  handlers: JobHandlers;
  pools: PoolNames;
  orderings: PoolOrderings;
  lacking?: Lacking | undefined;
}

export interface ReceivedWorkflow {
  head: Omit<WorkflowEnvelope, "nodes">;
  bytes: Buffer;
  slices: readonly JobSlice[];
  /** JSON texts; null: none. */
  input: Uint8Array | null;
  output: Uint8Array | null;
}

interface Submitted {
  replayed: boolean;
  body: WorkflowAccepted | WorkflowDeduplicated;
}

/** Checks workflows of requests and brings them to the store, in turns of the event loop. */
export class WorkflowSubmitter {
  readonly #deps: WorkflowSubmitterDependencies;
  readonly #intake: WorkflowIntake;

  constructor(deps: WorkflowSubmitterDependencies) {
    this.#deps = deps;
    this.#intake = new WorkflowIntake(deps);
  }

  get #turns(): Turns {
    return this.#deps.intake.turns;
  }

  /**
   * Takes a workflow, or writes nothing.
   * @throws {ProblemError} 400, 409 or 413 that names the field and the node; 422 or 429 as for jobs
   * @throws {StoreUnavailable} the workflow may or may not have been taken
   */
  async submit(received: ReceivedWorkflow, idempotency: Idempotency): Promise<Submitted> {
    requireFeature("WORKFLOWS", this.#deps.lacking);
    refuseLarge(received);
    const submission = await readNodes(received.bytes, received.slices, this.#turns);
    const { handlers, intake } = this.#deps;
    const book = await handlers.policies();
    const workflow = await this.#make(received, submission, book).catch(async (error: unknown) => {
      // The first answer counts for a repeat, whatever tasks have declared since.
      if (!(error instanceof ProblemError) || !(await intake.wasAnswered(idempotency))) throw error;
      return await this.#make(received, submission, NO_POLICIES);
    });
    const outcome = accepted(await this.#intake.take(workflow, idempotency));
    const [job] = outcome.jobs;
    const { nodes } = submission;
    invariant(job !== undefined && job.executionId !== null, "an accepted workflow has a run");
    const ids = { workflowId: job.executionId, jobId: job.jobId };
    if (job.deduplicated) return { replayed: outcome.replayed, body: { ...ids, deduplicated: true } };
    const first = workflow.roots.map(({ row: { node = 0 } }) => node);
    const body = {
      ...ids,
      ...startedBody(ids.workflowId, nodes, first),
      ...(await rootWarnings(handlers, workflow.roots)),
    };
    return { replayed: outcome.replayed, body };
  }

  /** @throws {ProblemError} */
  async #make(
    { head, input, output }: ReceivedWorkflow,
    { nodes: given, payloads }: ReceivedNodes,
    book: PolicyBook,
  ): Promise<NewWorkflow> {
    const { runtime, orderings } = this.#deps;
    const createdAt = runtime.now();
    const nodes = await this.#definitions(head, given, book, createdAt);
    const graph = await compileWorkflow(nodes, head.onFailure ?? "FAIL_FAST", this.#turns);
    const templates = await compileTemplates({ nodes, payloads, output, hasInput: input !== null }, graph, this.#turns);
    const definition = definitionOf(head, createdAt);
    this.#usePools(nodes, definition.pool);
    const orderingOf = await orderings.read();
    const deadline = createdAt + runTimeoutMs(head);
    const jobId = this.#intake.newId();
    const parts = { definition, jobId, graph, nodes, input, ...templates, deadline, createdAt, orderingOf };
    return await this.#turns.steps(makingWorkflow(parts));
  }

  async #definitions(
    { priority, defaults: own = {} }: ReceivedWorkflow["head"],
    given: ReceivedNodes["nodes"],
    book: PolicyBook,
    createdAt: EpochMs,
  ): Promise<WorkflowNode[]> {
    const faults = new Faults();
    const defaults = { ...(priority !== undefined && { priority }), ...own };
    const { pool: _pool, ...policies } = defaults;
    faults.add(...contradictions({ ...policies, target: { handler: WORKFLOW_HANDLER } }, 0).map(ofDefaults));
    if (faults.list.length > 0) throw new ProblemError(invalid(faults.list));
    const nodes = await this.#turns.map(given, (node, index) => {
      const made = nodeDefinition(node, defaults, book, createdAt);
      if (!Array.isArray(made)) return made;
      faults.add(...made.map((fault) => nodeFault(index, node.name, fault)));
      return null;
    });
    if (faults.list.length > 0) throw new ProblemError(invalid(faults.list));
    return nodes.filter((node) => node !== null);
  }

  /** @throws {ProblemError} 409: there are too many pools */
  #usePools(nodes: readonly WorkflowNode[], ownPool: string): void {
    const used = new Set<string>();
    for (const [index, { name, pool }] of nodes.entries()) {
      if (used.has(pool)) continue;
      used.add(pool);
      const refused = this.#deps.pools.use(pool);
      if (refused === null) continue;
      const errors = (refused.errors ?? []).map((fault) => nodeFault(index, name, fault));
      throw new ProblemError({ ...refused, detail: `${errors[0]?.field}: ${errors[0]?.message}`, errors });
    }
    const refused = used.has(ownPool) ? null : this.#deps.pools.use(ownPool);
    if (refused !== null) throw new ProblemError(refused);
  }
}

function ofDefaults({ field, message }: FieldError): FieldError {
  return { field: `defaults.${field}`, message };
}

/** Definition of the workflow's job. */
function definitionOf({ defaults, ...head }: ReceivedWorkflow["head"], createdAt: EpochMs): JobDefinition {
  const { name, labels, priority, uniqueKey } = head;
  const job = {
    target: { handler: WORKFLOW_HANDLER, ...(defaults?.pool !== undefined && { pool: defaults.pool }) },
    ...(name !== undefined && { name }),
    ...(labels !== undefined && { labels }),
    ...(priority !== undefined && { priority }),
    ...(uniqueKey !== undefined && { uniqueKey }),
  };
  return jobDefinition(job, createdAt);
}

function runTimeoutMs({ timeoutSec }: ReceivedWorkflow["head"]): number {
  return timeoutSec === undefined ? DEFAULT_RUN_TIMEOUT_MS : Math.round(timeoutSec * 1_000);
}
