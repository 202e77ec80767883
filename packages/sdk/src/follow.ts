import { type ExecutionSummary, FINAL_STATES } from "./api-types.ts";
import { fullJitterMs } from "./backoff.ts";
import { MainspringError } from "./errors.ts";
import { eventsIn, type ServerSentEvent } from "./event-lines.ts";
import type { Http } from "./http.ts";
import type { ExecutionEvent } from "./operator-types.ts";
import { type Runtime, sleep } from "./runtime.ts";

const BACKOFF = { firstMs: 200, maxMs: 5_000 };

export interface FollowOptions {
  signal?: AbortSignal;
  /** The id of the last event that was seen: goes on behind it. */
  lastEventId?: string;
}

/**
 * What happens to an execution, until it is final. A stream that breaks is opened again behind the last event, however long
 * that takes; end it by the signal.
 * @throws {MainspringError} what trying again does not change
 */
export async function* follow(
  http: Http,
  runtime: Runtime,
  path: string,
  { signal, lastEventId = "" }: FollowOptions,
): AsyncGenerator<ExecutionEvent, void, undefined> {
  let last = lastEventId;
  for (let failures = 0; ; failures++) {
    if (failures > 0) await sleep(runtime, fullJitterMs(BACKOFF, failures, runtime.random()), signal);
    signal?.throwIfAborted();
    try {
      const headers: Record<string, string> = last === "" ? {} : { "last-event-id": last };
      const stream = await http.open(path, headers, signal);
      if (stream === null) return;
      for await (const sent of eventsIn(stream)) {
        const event = executionEvent(sent);
        if (event === null) continue;
        failures = 0;
        last = event.id;
        yield event;
        if (event.type === "state" && FINAL_STATES.includes(event.execution.state)) return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof MainspringError && error.code !== "UNAVAILABLE" && error.code !== "TOO_MANY_REQUESTS")
        throw error;
    }
  }
}

/** null: of a kind that this version does not know. */
function executionEvent({ event, id, data }: ServerSentEvent): ExecutionEvent | null {
  if (event === "state") return { type: "state", id, execution: JSON.parse(data) as ExecutionSummary };
  if (event !== "progress" && event !== "log") return null;
  return { ...(JSON.parse(data) as Extract<ExecutionEvent, { type: "log" }>), type: event, id } as ExecutionEvent;
}
