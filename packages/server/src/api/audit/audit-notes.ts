import type { FastifyInstance, FastifyRequest } from "fastify";
import { boundedDetail } from "../../domain/audit/audit-record.ts";
import type { Principal } from "../../ports/authenticator.ts";
import type { AuditActor, AuditDetail, AuditNote } from "../../ports/store-audit.ts";
import { callerOf, tenantOfCaller } from "../http/security.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Note of a request that submits jobs; null: its jobs have no record. */
    submitNote: AuditNote | null;
  }
}

/**
 * How the audit log records an operation that changes something. CHANGE: the record is in the transaction of the change, or in that of
 * the command by which the owner of a shard makes it. BEFORE: the record is durable before the operation begins, because its effect is
 * outside the store. ORDINARY: there is none, because the operation belongs to the ordinary life of jobs.
 */
export type AuditWay = "CHANGE" | "BEFORE" | "ORDINARY";

/** Every operation that is no read, by its id in the API's document. */
export const AUDIT_WAYS: Readonly<Record<string, AuditWay>> = {
  ...all("CHANGE", ["createApiKey", "rotateApiKey", "revokeApiKey", "putPool", "putTimeZoneData", "seekIngest"]),
  ...all("CHANGE", ["replaceJob", "putJobByName", "deleteJob", "pauseJob", "resumeJob", "triggerJob", "backfillJob"]),
  ...all("CHANGE", ["retryExecution", "cancelExecution", "replayDeadLetters", "discardDeadLetters"]),
  ...all("CHANGE", ["createExecutionRun", "stopExecutionRun"]),
  ...all("CHANGE", ["cancelWorkflow", "pauseWorkflow", "resumeWorkflow", "retryWorkflow"]),
  ...all("CHANGE", ["createWebhook", "rotateWebhookSecret", "enableWebhook", "disableWebhook", "removeWebhook"]),
  ...all("CHANGE", ["replayDeliveries"]),
  ...all("CHANGE", ["createTenant", "changeTenant", "deleteTenant", "bindTenantSource", "unbindTenantSource"]),
  ...all("BEFORE", ["drainNode", "undrainNode", "drainWorker", "createSession"]),
  ...all("ORDINARY", ["submitJob", "submitJobs", "submitWorkflow", "previewSchedule", "endSession"]),
  ...all("ORDINARY", ["previewExecutionRun"]),
  ...all("ORDINARY", ["signalExecution", "signalWorkflowNode"]),
};

function all(way: AuditWay, operations: readonly string[]): Record<string, AuditWay> {
  return Object.fromEntries(operations.map((operation) => [operation, way]));
}

/** Keeps an application from starting that has an operation of which nobody has decided how the audit log records it. */
export function demandAuditWays(app: FastifyInstance): void {
  const unknown: string[] = [];
  app.addHook("onRoute", ({ method, url, schema }) => {
    if ([method].flat().every((one) => one === "GET" || one === "HEAD" || one === "OPTIONS")) return;
    const id = (schema as { operationId?: string } | undefined)?.operationId;
    if (id === undefined || AUDIT_WAYS[id] === undefined) unknown.push(`${[method].flat().join()} ${url}`);
  });
  app.addHook("onReady", async () => {
    if (unknown.length > 0) throw new Error(`no entry of AUDIT_WAYS has the operation ${unknown.join(", ")}`);
  });
}

const SUBMITS: readonly string[] = ["submitJob", "submitJobs", "submitWorkflow"];

/** Gives requests that submit jobs a note for the audit log, if their jobs are to have records. */
export function noteSubmits(app: FastifyInstance, areRecorded: boolean): void {
  app.decorateRequest("submitNote", null);
  if (!areRecorded) return;
  app.addHook("preHandler", (request, _reply, done) => {
    if (SUBMITS.includes(operationOf(request))) request.submitNote = { ...noteOf(request, null), detail: {} };
    done();
  });
}

/**
 * Note of the operation of a request.
 * @param target id or name of the object
 * @param detail further facts; default: names of the fields of the body
 * @throws {ProblemError} 401: the request has no caller
 */
export function noteOf(request: FastifyRequest, target: string | null, detail: AuditDetail = {}): AuditNote {
  const principal = callerOf(request);
  return {
    ...{
      tenant: tenantOfCaller(request),
      actor: { ...actorOf(principal), for: isActing(request) ? principal.tenant : null },
      action: operationOf(request),
      target,
      outcome: "DONE",
    },
    ...{ requestId: request.id, address: request.ip, detail: boundedDetail({ ...fieldsOf(request.body), ...detail }) },
  };
}

/** Whether the request names the tenant for which its caller acts. */
export function isActing({ headers }: FastifyRequest): boolean {
  return headers["mainspring-tenant"] !== undefined;
}

export function actorOf({ kind, keyId }: Principal): AuditActor {
  return { kind, keyId, for: null };
}

function operationOf({ routeOptions }: FastifyRequest): string {
  const schema = routeOptions.schema as { operationId?: string } | undefined;
  return schema?.operationId ?? "unknown";
}

/** Names of the fields of a body, never their values. */
function fieldsOf(body: unknown): AuditDetail {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return {};
  const names = Object.keys(body);
  return names.length === 0 ? {} : { fields: names };
}
