/** One event of a stream of server-sent events, or an id without an event. */
export interface ServerSentEvent {
  event: string;
  /** Position behind the event; empty: the event has none. */
  id: string;
  /** Empty: there is only an id. */
  data: string;
}

/** Size above which the reader gives up an event, in characters; no server sends a longer one. */
const UNREAD_MAX_CHARS = 4 * 1024 * 1024;

/** Parses server-sent events from a stream of bytes. The parser skips comments and an incomplete event at the end. */
export async function* eventsIn(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent, void, undefined> {
  const decoder = new TextDecoder();
  let unread = "";
  for await (const chunk of chunks) {
    unread = (unread + decoder.decode(chunk, { stream: true })).replaceAll("\r\n", "\n");
    const blocks = unread.split("\n\n");
    unread = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = eventOf(block);
      if (event.data !== "" || event.id !== "") yield event;
    }
    if (unread.length > UNREAD_MAX_CHARS) throw new Error("an event has no end");
  }
}

function eventOf(block: string): ServerSentEvent {
  const event: ServerSentEvent = { event: "message", id: "", data: "" };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const field = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (field === "event" || field === "id") event[field] = value;
    else if (field === "data") event.data += event.data === "" ? value : `\n${value}`;
  }
  return event;
}
