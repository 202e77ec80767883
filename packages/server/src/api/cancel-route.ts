import { Type } from "typebox";
import { isFinal } from "../domain/execution.ts";
import type { Bus } from "../ports/bus.ts";
import type { CommandOutcome } from "../ports/messages.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Command, Store } from "../ports/store.ts";
import type { ExecutionView } from "../ports/store-queries.ts";
import { answer, problems } from "./documented.ts";
import { ProblemError, problem } from "./errors.ts";
import type { ExecutionReader } from "./execution-reader.ts";
import { noSuch } from "./execution-routes.ts";
import type { HttpApp } from "./http-app.ts";
import type { Inbox } from "./inbox.ts";
import { refuseBody } from "./no-body.ts";
import { CancelBody } from "./schemas/execution.ts";
import { Uuid } from "./schemas/fields.ts";

/** An owner that is slower finds the command in its inbox; the client is told that it was requested. */
const OUTCOME_TIMEOUT_MS = 1_000;

interface CancelParts {
  store: Store;
  bus: Bus;
  runtime: Runtime;
  inbox: Inbox;
  reader: ExecutionReader;
}

/** POST /v1/executions/{executionId}/cancel */
export function cancelRoute(app: HttpApp, parts: CancelParts): void {
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
  app.post("/v1/executions/:executionId/cancel", { schema }, async (request, reply) => {
    refuseBody(request.body);
    const executionId = request.params.executionId.toLowerCase();
    const view = await known(parts.reader, executionId);
    if (isFinal(view.state)) return finalAnswer(view);
    const outcome = await command(parts, { id: parts.runtime.uuid(), shard: view.shard, kind: "CANCEL", executionId });
    if (outcome === "CANCELLED") return { executionId, state: "CANCELLED" as const, cancelRequested: false };
    const after = await known(parts.reader, executionId);
    if (isFinal(after.state)) return finalAnswer(after);
    return reply.code(202).send({ executionId, state: after.state, cancelRequested: true });
  });
}

/** Durable first: whatever becomes of the message, the owner finds the command. @returns null: no answer yet */
async function command({ store, bus, inbox }: CancelParts, command: Command): Promise<CommandOutcome | null> {
  await store.addCommand(command);
  const node = bus.ownerOf(command.shard);
  if (node === null) return null;
  const answered = inbox.collect(command.id, 1, OUTCOME_TIMEOUT_MS);
  bus.send({ node, role: "scheduler" }, { kind: "COMMAND", command });
  const [answer] = await answered;
  return answer?.kind === "COMMAND_DONE" ? answer.outcome : null;
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
