import { Uuid } from "@mainspring/contract";
import { Type } from "typebox";
import { isFinal } from "../../domain/execution.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { problems } from "../http/documented.ts";
import type { HttpApp } from "../http/http-app.ts";
import { decodeEventId } from "./event-cursor.ts";
import { EventStream } from "./event-stream.ts";
import { EventTeller } from "./event-teller.ts";
import type { ExecutionReader } from "./execution-reader.ts";
import { noSuch } from "./execution-routes.ts";
import type { Followers } from "./followers.ts";

/** Longest life of a stream, in milliseconds; the client then reconnects. */
export const STREAM_MAX_MS = 24 * 3_600_000;

interface EventsDependencies {
  reader: ExecutionReader;
  followers: Followers;
  runtime: Runtime;
}

/** Route GET /v1/executions/{executionId}/events */
export function eventsRoute(app: HttpApp, { reader, followers, runtime }: EventsDependencies): void {
  app.get("/v1/executions/:executionId/events", { schema }, async (request, reply) => {
    const seen = decodeEventId(request.headers["last-event-id"]);
    const executionId = request.params.executionId.toLowerCase();
    const view = await reader.read(executionId);
    if (view === null) throw noSuch("execution");
    if (isFinal(view.state) && seen.state === view.state) return reply.code(204).send();
    const teller = new EventTeller(view, seen, () => reader.read(executionId));
    const leave = isFinal(view.state) ? () => {} : followers.enter(teller);
    reply.hijack();
    const gone = new AbortController();
    reply.raw.once("close", () => gone.abort());
    const stream = new EventStream(reply.raw, runtime);
    teller.begin(stream);
    try {
      const last = isFinal(view.state) ? null : await reader.readFinal(executionId, STREAM_MAX_MS, gone.signal);
      if (last !== null) teller.changed(last, last);
    } catch {
      // Too many streams exist, or the store is away: the client reconnects, and gets the error then if it persists.
    } finally {
      leave();
      await teller.told;
      stream.end();
    }
    return reply;
  });
}

const schema = {
  operationId: "followExecution",
  tags: ["executions"],
  summary:
    "Follow an execution by server-sent events: `state`, `attempt` (one that did not succeed), `progress` and `log`, until it is final",
  params: Type.Object({ executionId: Uuid("the execution") }),
  headers: Type.Object({
    "last-event-id": Type.Optional(
      Type.String({
        maxLength: 64,
        description: "the id of the last event that was seen: the stream goes on behind it",
      }),
    ),
  }),
  response: {
    200: {
      description: "The stream. A client that reads too slowly is cut off, and may come back with its last event's id.",
      content: { "text/event-stream": { schema: Type.String() } },
    },
    204: { description: "The last event was seen: there is nothing to come back for", type: "null" },
    ...problems("not-found", "invalid-cursor"),
  },
};
