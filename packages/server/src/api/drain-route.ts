import { Type } from "typebox";
import type { WorkerId } from "../domain/ids.ts";
import type { WorkerStatus } from "../ports/messages.ts";
import { answer, problems } from "./documented.ts";
import { ProblemError, problem } from "./errors.ts";
import type { HttpApp } from "./http-app.ts";
import { refuseBody } from "./no-body.ts";
import { WorkerBody } from "./schemas/node.ts";
import { workerBody } from "./views.ts";

/** POST /v1/workers/{workerId}/drain */
export function drainRoute(app: HttpApp, drain: (workerId: WorkerId) => Promise<WorkerStatus | null>): void {
  const schema = {
    operationId: "drainWorker",
    tags: ["node"],
    summary: "Have a worker take no more work, hand back what it has not started, and end when it is done",
    params: Type.Object({ workerId: Type.String({ minLength: 1, maxLength: 128 }) }),
    response: {
      202: answer(
        WorkerBody,
        "Told. One that has no connection now is told when it comes back. Repeating it is harmless.",
      ),
      ...problems("not-found"),
    },
  };
  app.post("/v1/workers/:workerId/drain", { schema }, async (request, reply) => {
    refuseBody(request.body);
    const worker = await drain(request.params.workerId);
    if (worker === null) {
      throw new ProblemError(
        problem("not-found", "no server knows a living worker of this id; GET /v1/workers lists them"),
      );
    }
    return reply.code(202).send(workerBody(worker));
  });
}
