import { ExplanationBody, Uuid } from "@mainspring/contract";
import { Type } from "typebox";
import type { Candidate } from "../../domain/execution.ts";
import { isFinal } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { ownerOfPool, shownPool } from "../../domain/pool.ts";
import { waitOf } from "../../domain/step.ts";
import { dueReason, lifetimeReasons, runningReasons } from "../../engine/explain.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Bus } from "../../ports/bus.ts";
import type { WaitReason } from "../../ports/explanation.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import type { ExecutionView } from "../../ports/store-queries.ts";
import type { StoreSteps } from "../../ports/store-steps.ts";
import { isOfOperators, workerShownTo } from "../../security/tenant.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import type { HandlerOffers } from "../handlers/offers.ts";
import { answer, problems } from "../http/documented.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstant } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";
import type { Inbox } from "../inbox.ts";
import type { ExecutionReader } from "./execution-reader.ts";
import { noSuch } from "./execution-routes.ts";

/** Longest wait for an owner's answer, in milliseconds; after that the answer shows the row as it is. */
const ASK_TIMEOUT_MS = 500;

interface ExplainDependencies {
  stores: Pick<TenantStores, "of">;
  store: Pick<Store, "steps">;
  bus: Bus;
  runtime: Runtime;
  inbox: Inbox;
  reader: ExecutionReader;
  offers: Pick<HandlerOffers, "poolsOf">;
  /** Reasons why a run of a workflow is not final; null: there is no such run. */
  reasonsOfRun: (tenant: Tenant, run: ExecutionId) => Promise<ExplanationBody["reasons"] | null>;
}

/** Explains an execution; null: there is no such execution. @throws {StoreUnavailable} */
export type Explain = (tenant: Tenant, executionId: ExecutionId) => Promise<ExplanationBody | null>;

export function explainer(deps: ExplainDependencies): Explain {
  return async (tenant, executionId) => {
    const view = await deps.reader.read(tenant, executionId);
    if (view === null) return null;
    const told = view.isRun && view.state === "RUNNING" ? await deps.reasonsOfRun(tenant, executionId) : null;
    if (told !== null) return { executionId, state: view.state, reasons: told };
    const [row] = isFinal(view.state) ? [] : await deps.stores.of(tenant).load([executionId]);
    if (row !== undefined) {
      const reasons = (await askOwner(deps, row)) ?? rowReasons(view, row, deps.runtime.now());
      const named = await withSignals(reasons, executionId, deps.store.steps);
      return {
        executionId,
        state: view.state,
        reasons: await withPools(tenant, bodies(shownTo(tenant, row.pool, named), view), deps),
      };
    }
    // The execution may have become final since the row was read.
    const final = (await deps.reader.read(tenant, executionId)) ?? view;
    return { executionId, state: final.state, reasons: bodies(finalReasons(final), final) };
  };
}

/** Route GET /v1/executions/{executionId}/explain */
export function explainRoute(app: HttpApp, explain: Explain): void {
  const schema = {
    operationId: "explainExecution",
    tags: ["executions"],
    summary: "Why an execution waits: every reason, with its figures",
    params: Type.Object({ executionId: Uuid("the execution") }),
    response: { 200: answer(ExplanationBody, "As its owner sees it at this moment"), ...problems("not-found") },
  };
  app.get("/v1/executions/:executionId/explain", { schema, config: { scope: "jobs:read" } }, async (request) => {
    const executionId = request.params.executionId.toLowerCase();
    const explanation = await explain(tenantOfCaller(request), executionId);
    if (explanation === null) throw noSuch("execution");
    return explanation;
  });
}

async function askOwner(
  { bus, inbox, runtime }: ExplainDependencies,
  row: Candidate,
): Promise<readonly WaitReason[] | null> {
  const node = bus.ownerOf(row.shard);
  if (node === null) return null;
  const request = runtime.uuid();
  const answered = inbox.collect(request, 1, ASK_TIMEOUT_MS);
  bus.send({ node, role: "scheduler" }, { kind: "EXPLAIN", request, row });
  const [told] = await answered;
  return told?.kind === "EXPLAINED" ? told.reasons : null;
}

function rowReasons({ workerId, attempt }: ExecutionView, row: Candidate, now: number): WaitReason[] {
  const silent: WaitReason = { reason: "OWNER_SILENT" };
  if (row.state === "RUNNING" && workerId !== null && row.startedAt !== null) {
    return [...runningReasons(row, { attempt, workerId, startedAt: row.startedAt }), silent];
  }
  const due = dueReason(row, now);
  return due === null ? [silent] : [due, ...lifetimeReasons(row, row.dueAt), silent];
}

function finalReasons({ state, reason: why, finishedAt }: ExecutionView): WaitReason[] {
  return isFinal(state) ? [{ reason: "FINAL", state, why, finishedAt }] : [{ reason: "OWNER_SILENT" }];
}

/**
 * Reasons as a tenant sees them: without figures about the work of others in shared pools, and without the ids of workers.
 */
function shownTo(tenant: Tenant, pool: string, reasons: readonly WaitReason[]): readonly Shown[] {
  if (isOfOperators(tenant)) return reasons;
  if (ownerOfPool(pool) === tenant) return reasons.map(withShownPool);
  return reasons.map((reason): Shown => {
    if (reason.reason === "ALL_SLOTS_BUSY") return omit(reason, "held");
    if (reason.reason === "POOL_AT_LIMIT") return omit(reason, "running");
    if (reason.reason === "KEY_AT_LIMIT") {
      const shown = { ...reason, heldBy: reason.heldBy.map((holder) => withShownWorker(tenant, holder, pool)) };
      return shown;
    }
    return withShownWorker(tenant, reason, pool);
  });
}

/** A reason, with fewer figures perhaps. */
type Shown = Pick<WaitReason, "reason"> & Readonly<Record<string, unknown>>;

/** A reason of the owner of a pool, who sees all of its figures and workers. */
function withShownPool(reason: WaitReason): Shown {
  return "pool" in reason ? { ...reason, pool: shownPool(reason.pool) } : reason;
}

function omit<T extends object, K extends keyof T>(value: T, key: K): Omit<T, K> {
  const { [key]: _, ...rest } = value;
  return rest;
}

function withShownWorker<T extends object>(tenant: Tenant, told: T, pool: string): T {
  if (!("workerId" in told) || typeof told.workerId !== "string") return told;
  return { ...told, workerId: workerShownTo(tenant, told.workerId, pool) };
}

function bodies(reasons: readonly Shown[], { error }: ExecutionView): ExplanationBody["reasons"] {
  const lastError = error === null ? null : { name: error.name, message: error.message };
  return reasons.map((reason) => {
    const told = Object.entries(reason).map(([key, value]) => [
      key,
      isInstant(key, value) ? formatInstant(value) : value,
    ]);
    const body = Object.fromEntries(told);
    return reason.reason === "BACKOFF" ? { ...body, lastError } : body;
  });
}

/** Names the signals that the execution waits for, which only the store has. */
async function withSignals(
  reasons: readonly WaitReason[],
  executionId: ExecutionId,
  steps: StoreSteps,
): Promise<readonly WaitReason[]> {
  if (reasons.every(({ reason }) => reason !== "AWAITS_SIGNAL")) return reasons;
  const records = (await steps.read([executionId])).get(executionId) ?? [];
  const waits = records.filter(({ kind }) => kind === "WAIT").map(waitOf);
  const signals = [...new Set(waits.flatMap((wait) => wait.signals))];
  return reasons.map((reason) => (reason.reason === "AWAITS_SIGNAL" ? { ...reason, signals } : reason));
}

/** Names the pools that have the handler, where its own pool does not. */
async function withPools(
  tenant: Tenant,
  reasons: ExplanationBody["reasons"],
  { offers }: ExplainDependencies,
): Promise<ExplanationBody["reasons"]> {
  const told = reasons.map(async (reason) => {
    if (reason.reason !== "NO_WORKER_FOR_HANDLER") return reason;
    return { ...reason, offeredIn: await offers.poolsOf(tenant, reason.handler) };
  });
  return await Promise.all(told);
}

function isInstant(key: string, value: unknown): value is number {
  return typeof value === "number" && (key.endsWith("At") || key === "until");
}
