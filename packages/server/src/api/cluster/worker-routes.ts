import { WorkerBody, WorkerDetailBody } from "@mainspring/contract";
import { Type } from "typebox";
import type { WorkerId } from "../../domain/ids.ts";
import { ownerOfPool } from "../../domain/pool.ts";
import type { Principal } from "../../ports/authenticator.ts";
import type { WorkerStatus } from "../../ports/messages.ts";
import type { StoreAudit } from "../../ports/store-audit.ts";
import { seesWorkersOf } from "../../security/tenant.ts";
import { noteOf } from "../audit/audit-notes.ts";
import { refuseBody } from "../http/body/no-body.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { callerOf, tenantOfCaller } from "../http/security.ts";
import { workerBody, workerDetailBody } from "../views.ts";

interface WorkerDependencies {
  audit: Pick<StoreAudit, "write">;
  find(workerId: WorkerId): Promise<WorkerStatus | null>;
  drain(workerId: WorkerId): Promise<WorkerStatus | null>;
}

const tags = ["node"];
const params = Type.Object({ workerId: Type.String({ minLength: 1, maxLength: 128 }) });

/** Routes GET /v1/workers/{workerId} and POST /v1/workers/{workerId}/drain */
export function workerRoutes(app: HttpApp, deps: WorkerDependencies): void {
  getRoute(app, deps.find);
  drainRoute(app, deps);
}

function getRoute(app: HttpApp, find: WorkerDependencies["find"]): void {
  const schema = {
    operationId: "getWorker",
    tags,
    summary: "Look at one worker, and at the executions that it has",
    params,
    response: { 200: answer(WorkerDetailBody, "As its gateway sees it at this moment"), ...problems("not-found") },
  };
  app.get("/v1/workers/:workerId", { schema, config: { scope: "jobs:read" } }, async (request) => {
    const worker = await find(request.params.workerId);
    if (worker === null || !seesWorkersOf(tenantOfCaller(request), worker.pool)) throw noSuchWorker("worker");
    return workerDetailBody(worker);
  });
}

function drainRoute(app: HttpApp, { find, drain, audit }: WorkerDependencies): void {
  const schema = {
    operationId: "drainWorker",
    tags,
    summary: "Have a worker take no more work, hand back what it has not started, and end when it is done",
    params,
    response: {
      202: answer(
        WorkerBody,
        "Told. One that has no connection now is told when it comes back. Repeating it is harmless.",
      ),
      ...problems("not-found", "missing-scope"),
    },
  };
  app.post("/v1/workers/:workerId/drain", { schema, config: { scope: "tenant:admin" } }, async (request, reply) => {
    refuseBody(request.body);
    const { workerId } = request.params;
    const caller = callerOf(request);
    const known = await find(workerId);
    if (known === null || !seesWorkersOf(caller.tenant, known.pool)) throw noSuchWorker("living worker");
    if (ownerOfPool(known.pool) === null) demandOperator(caller, "only operators drain workers of shared pools");
    await audit.write([noteOf(request, workerId)]);
    const worker = await drain(workerId);
    if (worker === null) throw noSuchWorker("living worker");
    return reply.code(202).send(workerBody(worker));
  });
}

/** @throws {ProblemError} 403 */
export function demandOperator({ scopes }: Principal, detail: string): void {
  if (scopes.has("system:admin")) return;
  throw new ProblemError(problem("missing-scope", `${detail}: the key lacks the scope system:admin`));
}

function noSuchWorker(noun: "worker" | "living worker"): ProblemError {
  return new ProblemError(problem("not-found", `no server knows a ${noun} of this id; GET /v1/workers lists them`));
}
