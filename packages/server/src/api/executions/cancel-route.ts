import { CancelBody, Uuid } from "@mainspring/contract";
import { Type } from "typebox";
import { isFinal } from "../../domain/execution.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { ExecutionView } from "../../ports/store-queries.ts";
import type { Commands } from "../commands.ts";
import { refuseBody } from "../http/body/no-body.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import type { ExecutionReader } from "./execution-reader.ts";
import { noSuch } from "./execution-routes.ts";

interface CancelDependencies {
  runtime: Runtime;
  commands: Commands;
  reader: ExecutionReader;
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
      202: answer(CancelBody, "Requested: it is CANCELLED once its worker has stopped it"),
      ...problems("not-found", "wrong-state"),
    },
  };
  app.post(
    "/v1/executions/:executionId/cancel",
    { schema, config: { scope: "runs:control" } },
    async (request, reply) => {
      refuseBody(request.body);
      const executionId = request.params.executionId.toLowerCase();
      const view = await known(deps.reader, executionId);
      if (isFinal(view.state)) return finalAnswer(view);
      const { commands, runtime } = deps;
      const outcome = await commands.give({ id: runtime.uuid(), shard: view.shard, kind: "CANCEL", executionId });
      if (outcome === "CANCELLED") return { executionId, state: "CANCELLED" as const, cancelRequested: false };
      const after = await known(deps.reader, executionId);
      if (isFinal(after.state)) return finalAnswer(after);
      return reply.code(202).send({ executionId, state: after.state, cancelRequested: true });
    },
  );
}

function finalAnswer({ executionId, state }: ExecutionView) {
  if (state === "CANCELLED") return { executionId, state, cancelRequested: false };
  throw new ProblemError(problem("wrong-state", `the execution is ${state}: only what is not final can be cancelled`));
}

async function known(reader: ExecutionReader, executionId: string): Promise<ExecutionView> {
  const view = await reader.read(executionId);
  if (view === null) throw noSuch("execution");
  return view;
}
