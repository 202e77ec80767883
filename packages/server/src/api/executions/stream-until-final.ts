import type { FastifyReply } from "fastify";
import { Type } from "typebox";
import type { ExecutionId } from "../../domain/ids.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { ExecutionView } from "../../ports/store-queries.ts";
import { EventStream } from "./event-stream.ts";
import type { ExecutionReader } from "./execution-reader.ts";

/** Longest life of a stream, in milliseconds; the client then reconnects. */
export const STREAM_MAX_MS = 24 * 3_600_000;

/** Sender of one stream's events. */
export interface Teller {
  /** Resolves when all known events have been sent. */
  readonly told: Promise<void>;
  begin(stream: EventStream): void;
  /** Sends what is left when the stream ends. @param last the execution, which is final or not */
  ended(last: ExecutionView): void;
}

interface Followed {
  tenant: Tenant;
  executionId: ExecutionId;
  /** Whether the execution was final when the request came. */
  isFinal: boolean;
  teller: Teller;
  /** Removes the teller from those who are told of changes. */
  leave(): void;
}

/** Sends a teller's events as the answer, until the execution is final, the client is gone, or the stream is too old. */
export async function streamUntilFinal<R extends Pick<FastifyReply, "hijack" | "raw">>(
  reply: R,
  { reader, runtime }: { reader: ExecutionReader; runtime: Runtime },
  { tenant, executionId, isFinal, teller, leave }: Followed,
): Promise<R> {
  reply.hijack();
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  const stream = new EventStream(reply.raw, runtime);
  teller.begin(stream);
  try {
    const last = isFinal ? null : await reader.readFinal(tenant, executionId, STREAM_MAX_MS, gone.signal);
    if (last !== null) teller.ended(last);
  } catch {
    // Too many streams exist, or the store is away: the client reconnects, and gets the error then if it persists.
  } finally {
    leave();
    await teller.told;
    stream.end();
  }
  return reply;
}

export const LastEventIdHeader = Type.Object({
  "last-event-id": Type.Optional(
    Type.String({
      maxLength: 64,
      description: "the id of the last event that was seen: the stream goes on behind it",
    }),
  ),
});

/** Answers of routes that stream, besides problems. */
export const streamAnswers = {
  200: {
    description: "The stream. A client that reads too slowly is cut off, and may come back with its last event's id.",
    content: { "text/event-stream": { schema: Type.String() } },
  },
  204: { description: "The last event was seen: there is nothing to come back for", type: "null" },
};
