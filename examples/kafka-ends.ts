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

/**
 * Yields the end of each execution once, from the oldest message on.
 * @param broker host:port
 */
export async function* endsFrom(broker: string, groupId: string): AsyncGenerator<End> {
  const consumer = new Consumer({
    ...{ clientId: "ends", groupId, bootstrapBrokers: [broker], deserializers: stringDeserializers },
  });
  const seen = new Set<string>();
  try {
    const stream = await consumer.consume({ topics: ["ms.job-events"], mode: "committed", fallbackMode: "earliest" });
    for await (const { value } of stream) {
      const { id, type, data } = JSON.parse(value);
      if (type === "EventsDropped") console.error("gap: compare with GET /v1/executions", data);
      if (!ENDS.includes(type) || seen.has(id)) continue;
      seen.add(id);
      for (const old of seen) {
        if (seen.size <= REMEMBERED) break;
        seen.delete(old);
      }
      yield { executionId: data.executionId, kind: type, handler: data.handler, reason: data.reason };
    }
  } finally {
    await consumer.close(true);
  }
}

if (import.meta.main) {
  const [broker = "127.0.0.1:9092"] = process.argv.slice(2);
  for await (const { executionId, kind, handler } of endsFrom(broker, "ends")) console.log(executionId, kind, handler);
}
