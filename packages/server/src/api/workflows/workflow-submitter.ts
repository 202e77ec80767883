import type { JobSubmission, WorkflowEnvelope } from "@mainspring/contract";
import { WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import type { EpochMs } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import { tracedDefinition } from "../../domain/trace.ts";
import type { WorkflowNode } from "../../domain/workflow/definition.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Submission, SubmitOutcome } from "../../ports/store.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import type { NewRecurringWorkflow, NewWorkflow } from "../../ports/store-runs.ts";
import type { Turns } from "../../ports/turns.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import { type Lacking, requireFeature } from "../feature-gate.ts";
import type { JobHandlers } from "../handlers/job-handlers.ts";
import { PolicyBook } from "../handlers/kept-policies.ts";
import type { JobSlice } from "../http/body/json-parts.ts";
import { type FieldError, invalid, ProblemError } from "../http/errors.ts";
import type { PoolNames } from "../pools/pool-names.ts";
import type { PoolOrderings } from "../pools/pool-orderings.ts";
import type { Quotas } from "../quotas/quotas.ts";
import { submitUnder } from "../quotas/submit-under.ts";
import { contradictions, jobDefinition } from "../submit/job-definition.ts";
import { accepted, type Idempotency, type JobIntake } from "../submit/job-intake.ts";
import { firesAfter } from "../submit/submit-route.ts";
import { onFinishFaults, type WebhookRules } from "../webhooks/webhook-rules.ts";
import { withCompensations } from "./compensation-payload.ts";
import { compileTemplates, refuseLarge } from "./compile-templates.ts";
import { compileWorkflow } from "./compile-workflow.ts";
import { type GraphParts, makingWorkflow } from "./new-workflow.ts";
import { type NodeSpace, nodeDefinition, sharedKeyFaults } from "./node-definition.ts";
import { Faults, nodeFault, withinNode } from "./node-faults.ts";
import { type ReceivedNested, type ReceivedNodes, readNodes } from "./read-nodes.ts";
import { rootWarnings } from "./started-run.ts";
import { answerOf, jobOfWorkflow, type WorkflowAnswer } from "./workflow-answer.ts";
import { WorkflowIntake, type WorkflowIntakeDependencies } from "./workflow-intake.ts";

const NO_POLICIES = new PolicyBook([]);

export interface WorkflowSubmitterDependencies extends WorkflowIntakeDependencies {
  intake: Pick<JobIntake, "turns" | "wasAnswered" | "answered" | "takenAt">;
  /** Asks the store for its time, so that a delay does not count from a clock that was just set. */
  clock: { look(): Promise<void> };
  handlers: JobHandlers;
  pools: PoolNames;
  /** Left out: the server sends no webhooks. */
  webhooks?: WebhookRules | undefined;
  orderings: PoolOrderings;
  lacking?: Lacking | undefined;
  stores: TenantStores;
  /** Left out: no tenant has a quota. */
  quotas?: Quotas | undefined;
}

export interface ReceivedWorkflow {
  head: Omit<WorkflowEnvelope, "nodes">;
  bytes: Buffer;
  slices: readonly JobSlice[];
  /** JSON texts; null: none. */
  input: Uint8Array | null;
  output: Uint8Array | null;
  /** Header of the request; left out: none. */
  traceparent?: string | undefined;
}

interface Submitted {
  replayed: boolean;
  body: WorkflowAnswer;
}

interface Made {
  /** null: it recurs and never fires. */
  workflow: NewWorkflow | NewRecurringWorkflow | null;
  nodes: readonly WorkflowNode[];
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
  async submit(
    tenant: Tenant,
    received: ReceivedWorkflow,
    idempotency: Idempotency,
    note: AuditNote | null = null,
  ): Promise<Submitted> {
    requireFeature("WORKFLOWS", this.#deps.lacking);
    refuseLarge(received);
    const submission = await readNodes(received.bytes, received.slices, this.#turns);
    if (submission.nested.size > 0) requireFeature("SUB_WORKFLOWS", this.#deps.lacking);
    const { handlers, intake } = this.#deps;
    const book = await handlers.policies();
    const job = jobOfWorkflow(received.head);
    const after = firesAfter(idempotency, this.#deps.runtime);
    const faults = [...contradictions(job, after), ...onFinishFaults(job, this.#deps.webhooks)];
    if (faults.length > 0) throw new ProblemError(invalid(faults));
    // A delay counts from the store's time now, as for jobs.
    if ((job.delayMs ?? 0) > 0) await this.#deps.clock.look();
    const made = await this.#make(tenant, received, job, submission, book).catch(async (error: unknown) => {
      // The first answer counts for a repeat, whatever tasks have declared since.
      if (!(error instanceof ProblemError) || !(await intake.wasAnswered(idempotency))) throw error;
      return await this.#make(tenant, received, job, submission, NO_POLICIES);
    });
    const { workflow } = made;
    const outcome =
      workflow === null
        ? await intake.answered(idempotency, job)
        : accepted(await this.#take(tenant, workflow, received.bytes.length, idempotency, note));
    const { replayed } = outcome;
    const [taken] = outcome.jobs;
    invariant(taken !== undefined, "an accepted workflow has a job");
    const takenAt = replayed || workflow === null ? await intake.takenAt(tenant, taken.jobId, job) : workflow.createdAt;
    const warnings = await rootWarnings(
      tenant,
      handlers,
      made.nodes.filter(({ dependsOn }) => dependsOn.length === 0),
    );
    return { replayed, body: { ...answerOf(taken, job, takenAt, made.nodes), ...warnings } };
  }

  #take(
    tenant: Tenant,
    workflow: NonNullable<Made["workflow"]>,
    bodyBytes: number,
    idempotency: Idempotency,
    note: AuditNote | null,
  ): Promise<SubmitOutcome> {
    const { quotas, stores } = this.#deps;
    const answered = (key: NonNullable<Submission["idempotency"]>) => stores.of(tenant).answered(key);
    const submit = () => this.#intake.take(workflow, idempotency, note);
    return submitUnder({ quotas, answered, submit }, tenant, { idempotency, jobs: [workflow] }, bodyBytes);
  }

  /** @throws {ProblemError} */
  async #make(
    tenant: Tenant,
    { head, input, output, traceparent }: ReceivedWorkflow,
    given: JobSubmission,
    received: ReceivedNodes,
    book: PolicyBook,
  ): Promise<Made> {
    const { runtime, orderings } = this.#deps;
    const createdAt = runtime.now();
    const { priority, concurrencyKey, defaults } = head;
    const context = {
      ...{ tenant, poolOf: this.#deps.handlers.poolOf },
      ...{ book, createdAt, hasInput: input !== null },
      heldKeys: concurrencyKey === undefined ? [] : [concurrencyKey],
      defaults: { ...(priority !== undefined && { priority }), ...defaults },
    };
    const definition = tracedDefinition(jobDefinition(given, createdAt), traceparent);
    definition.pool = this.#deps.handlers.poolOf(tenant, definition.pool);
    const parts = await this.#graph({ head, output, nodes: received }, context);
    const { nodes } = parts;
    const refused = this.#deps.pools.use(tenant, definition.pool);
    if (refused !== null) throw new ProblemError(refused);
    const orderingOf = await orderings.read();
    const job = this.#intake.jobOf(tenant, definition, input, orderingOf(definition.pool), createdAt);
    if (job === null) return { workflow: null, nodes };
    return { workflow: await this.#turns.steps(makingWorkflow({ ...parts, job, orderingOf })), nodes };
  }

  /** Compiles a workflow or sub-workflow, with those of its nodes. @throws {ProblemError} */
  async #graph({ head, output, nodes: received }: ReceivedNested, context: Context): Promise<GraphParts> {
    const { payloads } = received;
    const nodes = await this.#definitions(head, received.nodes, context);
    const graph = await compileWorkflow(nodes, head.onFailure ?? "FAIL_FAST", this.#turns);
    const { hasInput } = context;
    const all = await this.#turns.steps(withCompensations(nodes, payloads, hasInput));
    const templates = await compileTemplates({ nodes, payloads: all, output, hasInput }, graph, this.#turns);
    this.#usePools(context.tenant, nodes);
    const nested = new Map<number, GraphParts>();
    for (const [index, inner] of received.nested) {
      const { name, concurrencyKey, priority } = nodes[index] as WorkflowNode;
      const within: Context = {
        ...context,
        hasInput: payloads.has(index),
        heldKeys: [...context.heldKeys, ...(concurrencyKey === undefined ? [] : [concurrencyKey])],
        defaults: { ...context.defaults, priority, ...inner.head.defaults },
      };
      nested.set(index, await withinNode(index, name, () => this.#graph(inner, within)));
    }
    const compensatesOnCancel = head.compensate === "ON_FAILURE_OR_CANCEL";
    return { graph, nodes, compensatesOnCancel, ...templates, nested };
  }

  async #definitions(
    { compensate }: ReceivedNested["head"],
    given: ReceivedNodes["nodes"],
    { defaults, heldKeys, createdAt, ...space }: Context,
  ): Promise<WorkflowNode[]> {
    const faults = new Faults();
    const { pool: _pool, ...policies } = defaults;
    faults.add(...contradictions({ ...policies, target: { handler: WORKFLOW_HANDLER } }, 0).map(ofDefaults));
    if (faults.list.length > 0) throw new ProblemError(invalid(faults.list));
    const nodes = await this.#turns.map(given, (node, index) => {
      const made = nodeDefinition(node, defaults, space, createdAt);
      if (compensate === "NEVER" && node.compensate !== undefined) faults.add(nodeFault(index, node.name, NEVER));
      const own = Array.isArray(made) ? made : sharedKeyFaults(made, heldKeys);
      faults.add(...own.map((fault) => nodeFault(index, node.name, fault)));
      return Array.isArray(made) ? null : made;
    });
    if (faults.list.length > 0) throw new ProblemError(invalid(faults.list));
    return nodes.filter((node) => node !== null);
  }

  /** @throws {ProblemError} 409: there are too many pools */
  #usePools(tenant: Tenant, nodes: readonly WorkflowNode[]): void {
    const used = new Set<string>();
    const works = nodes.flatMap(({ name, pool, compensate }, index) => [
      { index, name, pool, of: "" },
      ...(compensate === undefined ? [] : [{ index, name, pool: compensate.pool, of: "compensate." }]),
    ]);
    for (const { index, name, pool, of } of works) {
      if (used.has(pool)) continue;
      used.add(pool);
      const refused = this.#deps.pools.use(tenant, pool);
      if (refused === null) continue;
      const faults = (refused.errors ?? []).map((fault) => ({ ...fault, field: `${of}${fault.field}` }));
      const errors = faults.map((fault) => nodeFault(index, name, fault));
      throw new ProblemError({ ...refused, detail: `${errors[0]?.field}: ${errors[0]?.message}`, errors });
    }
  }
}

/** Surroundings of a workflow or sub-workflow of a request. */
interface Context extends NodeSpace {
  tenant: Tenant;
  defaults: NonNullable<WorkflowEnvelope["defaults"]>;
  /** Concurrency keys of the runs in which its own runs. */
  heldKeys: readonly string[];
  hasInput: boolean;
  createdAt: EpochMs;
}

const NEVER: FieldError = {
  field: "compensate",
  message: "is declared, and `compensate` of the workflow is NEVER: leave out one of the two",
};

function ofDefaults({ field, message }: FieldError): FieldError {
  return { field: `defaults.${field}`, message };
}
