import { Uuid } from "@mainspring/contract";
import { Type } from "typebox";
import { isFinal } from "../../domain/execution.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { problems } from "../http/documented.ts";
import type { HttpApp } from "../http/http-app.ts";
import { tenantOfCaller } from "../http/security.ts";
import { decodeEventId } from "./event-cursor.ts";
import { EventTeller } from "./event-teller.ts";
import type { ExecutionReader } from "./execution-reader.ts";
import { noSuch } from "./execution-routes.ts";
import type { Followers } from "./followers.ts";
import { LastEventIdHeader, streamAnswers, streamUntilFinal } from "./stream-until-final.ts";

interface EventsDependencies {
  reader: ExecutionReader;
  followers: Followers;
  runtime: Runtime;
}

/** Route GET /v1/executions/{executionId}/events */
export function eventsRoute(app: HttpApp, { reader, followers, runtime }: EventsDependencies): void {
  app.get("/v1/executions/:executionId/events", { schema, config: { scope: "jobs:read" } }, async (request, reply) => {
    const seen = decodeEventId(request.headers["last-event-id"]);
    const executionId = request.params.executionId.toLowerCase();
    const tenant = tenantOfCaller(request);
    const view = await reader.read(tenant, executionId);
    if (view === null) throw noSuch("execution");
    if (isFinal(view.state) && seen.state === view.state) return reply.code(204).send();
    const teller = new EventTeller(tenant, view, seen, () => reader.read(tenant, executionId));
    const leave = isFinal(view.state) ? () => {} : followers.enter(teller);
    const followed = { tenant, executionId, isFinal: isFinal(view.state), teller, leave };
    return await streamUntilFinal(reply, { reader, runtime }, followed);
  });
}

const schema = {
  operationId: "followExecution",
  tags: ["executions"],
  summary:
    "Follow an execution by server-sent events: `state`, `attempt` (one that did not succeed), `progress` and `log`, until it is final",
  params: Type.Object({ executionId: Uuid("the execution") }),
  headers: LastEventIdHeader,
  response: { ...streamAnswers, ...problems("not-found", "invalid-cursor") },
};
