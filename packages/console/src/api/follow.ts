import { headersOf, send } from "./client.ts";

const RETRY_MS = 2_000;

/**
 * Follows server-sent events of an address until it is stopped or the server ends the stream for good (204). An EventSource cannot
 * send the header that names a tenant.
 * @param tell called for each event, and for each new beginning of the stream
 * @returns function that stops
 */
export function follow(path: string, tell: () => void): () => void {
  const stop = new AbortController();
  void run(path, tell, stop.signal);
  return () => stop.abort();
}

async function run(path: string, tell: () => void, signal: AbortSignal): Promise<void> {
  let lastId = "";
  while (!signal.aborted) {
    try {
      const headers = { ...headersOf(false), accept: "text/event-stream", ...(lastId && { "last-event-id": lastId }) };
      const response = await send(path, { headers, signal });
      if (response.status === 204 || response.body === null) return;
      for await (const id of eventsOf(response.body)) {
        lastId = id || lastId;
        tell();
      }
    } catch {
      // The page shows the error of its own request, and the stream tries again.
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Ids of the events of a stream; empty: the event has none. */
async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += part.value;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) if (/^event:/m.test(event)) yield /^id: ?(.*)$/m.exec(event)?.[1] ?? "";
  }
}
