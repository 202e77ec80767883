import { readJobEvent } from "@mainspring/proto/events";
import { Consumer, stringDeserializers } from "@platformatic/kafka";

/** End of an execution, as a message of the topic of events tells it. */
export interface End {
  executionId: string;
  kind: string;
  handler: string;
  reason: string | null;
}

const ENDS = ["JobCompleted", "JobCancelled", "JobSkipped", "JobDeadLettered"];
/** Number of ids by which repeats are recognised. */
const REMEMBERED = 100_000;

/** A message in either format, as the header `content-type` names it. */
function read(value: Buffer, contentType: string | undefined) {
  if (contentType === "application/protobuf") {
    const { id, kind, executionId = "", handler, reason = null, eventsDropped: gap } = readJobEvent(value);
    return { id, gap, end: { executionId, kind, handler, reason } };
  }
  const { id, type: kind, data } = JSON.parse(value.toString());
  const { executionId, handler, reason } = data;
  return { id, gap: kind === "EventsDropped" ? data : undefined, end: { executionId, kind, handler, reason } };
}

/**
 * Yields the end of each execution once, from the oldest message on.
 * @param broker host:port
 */
export async function* endsFrom(broker: string, groupId: string): AsyncGenerator<End> {
  const consumer = new Consumer({
    ...{ clientId: "ends", groupId, bootstrapBrokers: [broker] },
    deserializers: { ...stringDeserializers, value: (value) => value ?? Buffer.alloc(0) },
  });
  const seen = new Set<string>();
  try {
    const stream = await consumer.consume({ topics: ["ms.job-events"], mode: "committed", fallbackMode: "earliest" });
    for await (const { value, headers } of stream) {
      const { id, gap, end } = read(value, headers.get("content-type"));
      if (gap !== undefined) console.error("gap: compare with GET /v1/executions", gap);
      if (!ENDS.includes(end.kind) || seen.has(id)) continue;
      seen.add(id);
      for (const old of seen) {
        if (seen.size <= REMEMBERED) break;
        seen.delete(old);
      }
      yield end;
    }
  } finally {
    await consumer.close(true);
  }
}

if (import.meta.main) {
  const [broker = "127.0.0.1:9092"] = process.argv.slice(2);
  for await (const { executionId, kind, handler } of endsFrom(broker, "ends")) console.log(executionId, kind, handler);
}
