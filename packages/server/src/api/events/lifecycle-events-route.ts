import { CloudEventBody, EventKind, Uuid, Word } from "@mainspring/contract";
import { EVENT_KINDS } from "@mainspring/contract/enums";
import { EVENT_FILTER_VALUES_MAX, EVENT_POSITION_CHARS_MAX } from "@mainspring/contract/limits";
import { type TSchema, Type } from "typebox";
import type { Runtime } from "../../ports/runtime.ts";
import type { EventPosition, EventRow, StoreEvents } from "../../ports/store-events.ts";
import type { Turns } from "../../ports/turns.ts";
import { EventStream } from "../executions/event-stream.ts";
import type { StreamSeats } from "../executions/stream-seats.ts";
import { STREAM_MAX_MS } from "../executions/stream-until-final.ts";
import { problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { tenantOfCaller } from "../http/security.ts";
import { type EventFeed, PAGE_ROWS } from "./event-feed.ts";
import { eventFilter } from "./event-filter.ts";
import { EventFollower } from "./event-follower.ts";
import { decodePosition } from "./position-token.ts";

/** Number of reads of the oldest rows, which the store may remove in between. */
const OLDEST_READS = 3;

interface LifecycleEventsDependencies {
  /** null: the servers keep no events. */
  feed: EventFeed | null;
  runtime: Runtime;
  turns: Turns;
  seats: StreamSeats;
}

/** Route GET /v1/events */
export function lifecycleEventsRoute(app: HttpApp, { feed, runtime, turns, seats }: LifecycleEventsDependencies): void {
  app.addHook("preClose", async () => feed?.close());
  app.get("/v1/events", { schema, config: { scope: "jobs:read" } }, async (request, reply) => {
    if (feed === null) throw new ProblemError(problem("events-off", OFF));
    const { after, until, ...wanted } = request.query;
    const free = seats.take();
    const leave = feed.enter();
    try {
      // An EventSource repeats its URL when it comes back, so the header has the later position.
      const { position, page } = await startOf(feed.events, request.headers["last-event-id"] || after);
      const end = until === undefined ? null : await feed.events.newest();
      const isWanted = eventFilter(tenantOfCaller(request), wanted);
      const follower = new EventFollower({ feed, turns, isWanted, until: end }, position, page);
      reply.hijack();
      const stream = new EventStream(reply.raw, runtime, () => follower.progress() || ":\n\n");
      await sendUntilGone(stream, follower, reply.raw, runtime);
    } finally {
      leave();
      free();
    }
    return reply;
  });
}

const OFF = "start every node with MAINSPRING_EVENTS=api, so that they keep events";
const GONE =
  "events behind this position are no longer kept: go on with after=oldest, and read what you missed from GET /v1/executions";

async function sendUntilGone(
  stream: EventStream,
  follower: EventFollower,
  raw: { once(event: "close", heard: () => void): unknown },
  runtime: Runtime,
): Promise<void> {
  const gone = new AbortController();
  raw.once("close", () => gone.abort());
  const timer = runtime.setTimer(STREAM_MAX_MS, () => gone.abort());
  try {
    await follower.run(stream, gone.signal);
  } catch {
    // The store is away: the client reconnects with its position, and gets the error then if it persists.
  } finally {
    timer.cancel();
    stream.end();
  }
}

interface Start {
  position: EventPosition;
  /** Rows behind the position; null: they were not read. */
  page: readonly EventRow[] | null;
}

/** @throws {ProblemError} invalid-cursor, events-gone */
async function startOf(events: StoreEvents, after: string | undefined): Promise<Start> {
  if (after === undefined) return { position: await events.newest(), page: null };
  const isOldest = after === "oldest";
  for (let reads = 0; reads < (isOldest ? OLDEST_READS : 1); reads++) {
    const position = isOldest ? await events.oldest() : decodePosition(after);
    const page = await events.read(position, PAGE_ROWS);
    if (page !== null) return { position, page };
  }
  throw new ProblemError(problem("events-gone", GONE));
}

/** A parameter that may be repeated: an event has one of its values. */
function valuesOf<T extends TSchema>(schema: T, description: string, maxItems = EVENT_FILTER_VALUES_MAX) {
  return Type.Optional(Type.Array(schema, { maxItems, description: `${description}; may be repeated` }));
}

const Query = Type.Object(
  {
    kind: valuesOf(EventKind, "only events of this kind", EVENT_KINDS.length),
    pool: valuesOf(Word("a pool's name"), "only events of this pool"),
    handler: valuesOf(Word("a handler's name"), "only events of this handler"),
    jobId: valuesOf(Uuid("a job"), "only events of this job"),
    workflowId: valuesOf(Uuid("a run"), "only events of this run of a workflow and of its nodes"),
    executionId: valuesOf(Uuid("an execution"), "only events of this execution"),
    workerId: valuesOf(
      Word("a worker's id"),
      "only events of this worker: of its sessions, and of attempts that it ran",
    ),
    after: Type.Optional(
      Type.String({
        maxLength: EVENT_POSITION_CHARS_MAX,
        description:
          "the id of an event: the stream goes on behind it. oldest: it begins with the oldest event that is kept. Default: it begins now",
      }),
    ),
    until: Type.Optional(
      Type.Literal("now", {
        description:
          "the stream ends with the last event that there is at the request, and with an event `end`. Default: it goes on",
      }),
    ),
  },
  { additionalProperties: false },
);

const schema = {
  operationId: "followEvents",
  tags: ["events"],
  summary:
    "Follow the events of executions, jobs and workers by server-sent events: each is named by its kind, and its data is a CloudEvent. An id is the position behind all events before it; some events have none",
  querystring: Query,
  headers: Type.Object({
    "last-event-id": Type.Optional(
      Type.String({
        maxLength: EVENT_POSITION_CHARS_MAX,
        description: "the last id that was seen: the stream goes on behind it. It comes before `after`",
      }),
    ),
  }),
  response: {
    200: {
      description:
        "The stream. A client that reads nothing for 15 seconds is cut off, and may come back with its last id.",
      content: { "text/event-stream": { schema: Type.String({ "x-event-data": CloudEventBody }) } },
    },
    ...problems("invalid-cursor", "events-off", "events-gone"),
  },
};
