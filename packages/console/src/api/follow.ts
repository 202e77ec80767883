import { headersOf, send } from "./client.ts";

const RETRY_MS = 2_000;

/** A server-sent event. */
export interface ServerEvent {
  /** Empty: the event has none. */
  id: string;
  kind: string;
  data: string;
}

/**
 * Follows server-sent events of an address until it is stopped or the server ends the stream for good (204). An EventSource cannot
 * send the header that names a tenant.
 * @param tell called for each event
 * @returns function that stops
 */
export function follow(path: string, tell: (event: ServerEvent) => void): () => void {
  const stop = new AbortController();
  void run(path, tell, stop.signal);
  return () => stop.abort();
}

async function run(path: string, tell: (event: ServerEvent) => void, signal: AbortSignal): Promise<void> {
  let lastId = "";
  while (!signal.aborted) {
    try {
      const headers = { ...headersOf(false), accept: "text/event-stream", ...(lastId && { "last-event-id": lastId }) };
      const response = await send(path, { headers, signal });
      if (response.status === 204 || response.body === null) return;
      for await (const event of eventsOf(response.body)) {
        lastId = event.id || lastId;
        tell(event);
      }
    } catch {
      // The page shows the error of its own request, and the stream tries again.
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += part.value;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const kind = fieldOf(event, "event");
      if (kind !== "") yield { id: fieldOf(event, "id"), kind, data: fieldOf(event, "data") };
    }
  }
}

/** The server writes each field as one line. */
function fieldOf(event: string, name: string): string {
  const line = event.split("\n").find((one) => one.startsWith(`${name}:`)) ?? "";
  return line.slice(name.length + 1).trimStart();
}
