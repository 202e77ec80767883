import { EventsGone, EventsOff, MainspringError } from "../errors.ts";
import type { Runtime } from "../runtime.ts";
import { type Followed, follow } from "./follow.ts";
import type { Http } from "./http.ts";
import { EVENT_KINDS, type EventFilter, type LifecycleEvent } from "./lifecycle-event-types.ts";
import { queryOf } from "./requests.ts";

/** Position of the oldest event that the server keeps. */
const OLDEST = "oldest";

const LIFECYCLE_EVENTS: Followed<LifecycleEvent> = {
  read: ({ event, data }, position) => {
    // A server of a later release may have kinds that this one does not know.
    const isKnown = (EVENT_KINDS as readonly string[]).includes(event);
    return isKnown ? { ...(JSON.parse(data) as Omit<LifecycleEvent, "position">), position } : null;
  },
  isLast: (_, { event }) => event === "end",
};

/**
 * Streams the events of executions and jobs. A stream that breaks goes on behind the last position.
 * @throws {EventsGone | EventsOff | MainspringError}
 */
export async function* lifecycleEvents(
  http: Pick<Http, "open">,
  runtime: Runtime,
  filter: EventFilter,
): AsyncGenerator<LifecycleEvent, void, undefined> {
  const { after = "", kinds, until, signal, giveUpAfterSec, ...fields } = filter;
  const oldest = after === OLDEST ? { after } : {};
  const path = `/v1/events${queryOf({ ...fields, kind: kinds, until, ...oldest })}`;
  const options = {
    ...(after !== OLDEST && { lastEventId: after }),
    ...(signal !== undefined && { signal }),
    ...(giveUpAfterSec !== undefined && { giveUpAfterSec }),
  };
  try {
    yield* follow(http, runtime, path, options, LIFECYCLE_EVENTS);
  } catch (error) {
    throw typed(error);
  }
}

function typed(error: unknown): unknown {
  if (!(error instanceof MainspringError)) return error;
  if (error.code === "GONE") return new EventsGone(error);
  return error.problem?.type === "/problems/events-off" ? new EventsOff(error) : error;
}
