import { CancelBody, Uuid } from "@mainspring/contract";
import { Type } from "typebox";
import { isFinal } from "../../domain/execution.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { type CancelSet, IndexUnavailable } from "../../ports/side-index.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import type { ExecutionView } from "../../ports/store-queries.ts";
import { noteOf } from "../audit/audit-notes.ts";
import type { Commands } from "../commands.ts";
import { refuseBody } from "../http/body/no-body.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { tenantOfCaller } from "../http/security.ts";
import type { ExecutionReader } from "./execution-reader.ts";
import { noSuch } from "./execution-routes.ts";

interface CancelDependencies {
  runtime: Runtime;
  commands: Pick<Commands, "give">;
  reader: Pick<ExecutionReader, "read">;
  /** Cancellations that are asked for while the store does not answer; null: such requests fail. */
  cancels: () => CancelSet | null;
}

/** Route POST /v1/executions/{executionId}/cancel */
export function cancelRoute(app: HttpApp, deps: CancelDependencies): void {
  const schema = {
    operationId: "cancelExecution",
    tags: ["executions"],
    summary: "Cancel an execution",
    params: Type.Object({ executionId: Uuid("the execution") }),
    response: {
      200: answer(CancelBody, "Cancelled: it had not started, or was cancelled already"),
      202: answer(
        CancelBody,
        "Requested: it is CANCELLED once its worker has stopped it. With durable: false the store did not answer: the worker is told, and the request is written when the store is back",
      ),
      ...problems("not-found", "wrong-state"),
    },
  };
  app.post(
    "/v1/executions/:executionId/cancel",
    { schema, config: { scope: "runs:control" } },
    async (request, reply) => {
      refuseBody(request.body);
      const executionId = request.params.executionId.toLowerCase();
      const note = noteOf(request, executionId);
      const cancelled = await cancelOrKeep(deps, tenantOfCaller(request), executionId, note);
      return reply.code(cancelled.cancelRequested ? 202 : 200).send(cancelled);
    },
  );
}

/**
 * Cancels an execution, or keeps the request in the set while the store does not answer.
 * @throws {StoreUnavailable} the store does not answer, nor does the set take the request
 */
export function cancelOrKeep(
  deps: CancelDependencies,
  tenant: Tenant,
  executionId: string,
  note?: AuditNote,
): Promise<CancelBody> {
  return cancel(deps, tenant, executionId, note).catch((error: unknown) => askWithoutStore(deps, executionId, error));
}

/**
 * Cancels an execution in the store.
 * @throws {ProblemError} 404: there is no such execution; 409: it is final in another state
 */
export async function cancel(
  { commands, reader, runtime }: Omit<CancelDependencies, "cancels">,
  tenant: Tenant,
  executionId: string,
  note: AuditNote | undefined,
): Promise<CancelBody> {
  const view = await known(reader, tenant, executionId);
  if (isFinal(view.state)) return finalAnswer(view);
  const outcome = await commands.give({ id: runtime.uuid(), shard: view.shard, kind: "CANCEL", executionId }, note);
  if (outcome === "CANCELLED") return { executionId, state: "CANCELLED", cancelRequested: false };
  const after = await known(reader, tenant, executionId);
  if (isFinal(after.state)) return finalAnswer(after);
  return { executionId, state: after.state, cancelRequested: true };
}

/**
 * Puts the cancellation into the set if the store did not answer.
 * @throws what has failed, where there is no set, it is full, or it does not answer either
 */
async function askWithoutStore(
  { cancels: cancelsNow, runtime }: CancelDependencies,
  executionId: string,
  failure: unknown,
): Promise<CancelBody> {
  const cancels = cancelsNow();
  if (cancels === null || !(failure instanceof StoreUnavailable)) throw failure;
  try {
    if (!(await cancels.add(executionId, runtime.now()))) throw failure;
  } catch (error) {
    throw error instanceof IndexUnavailable ? failure : error;
  }
  return { executionId, state: null, cancelRequested: true, durable: false };
}

function finalAnswer({ executionId, state }: ExecutionView): CancelBody {
  if (state === "CANCELLED") return { executionId, state, cancelRequested: false };
  throw new ProblemError(problem("wrong-state", `the execution is ${state}: only what is not final can be cancelled`));
}

async function known(
  reader: CancelDependencies["reader"],
  tenant: Tenant,
  executionId: string,
): Promise<ExecutionView> {
  const view = await reader.read(tenant, executionId);
  if (view === null) throw noSuch("execution");
  return view;
}
