import { fullJitterMs } from "../backoff.ts";
import { MainspringError } from "../errors.ts";
import { type Runtime, sleep } from "../runtime.ts";
import { type AttemptRecord, type ExecutionSummary, FINAL_STATES } from "./api-types.ts";
import { eventsIn, type ServerSentEvent } from "./event-lines.ts";
import type { Http } from "./http.ts";

/** An event of an execution. `id` is the position from which a later stream can continue. */
export type ExecutionEvent =
  /** State of the execution; `at` is the time at which the state began. */
  | { type: "state"; id: string; at: string; execution: ExecutionSummary }
  /** An attempt that ended in another state than SUCCEEDED. */
  | { type: "attempt"; id: string; record: AttemptRecord }
  | { type: "progress"; id: string; attempt: number; at: string; fraction: number; message: string }
  | { type: "log"; id: string; attempt: number; at: string; level: string; line: string };

const BACKOFF = { firstMs: 200, maxMs: 5_000 };
/**
 * Default of `giveUpAfterSec`, in seconds: longer than an upgrade, a failover of the store or a restart of the machine.
 */
const GIVE_UP_AFTER_SEC = 300;

export interface FollowOptions {
  signal?: AbortSignal;
  /**
   * Id of the last event that the caller has seen. The stream continues after that event; absent: from the beginning.
   */
  lastEventId?: string;
  /**
   * Time without any answer of a server after which the stream fails with UNAVAILABLE, in seconds. Every answer starts
   * the time again. 0: at the first failure. Infinity: never. Default: 300.
   */
  giveUpAfterSec?: number;
}

/** Kind of streams that a client follows. */
export interface Followed<E> {
  /**
   * The event as the SDK's type; null: the client leaves the event out.
   * @param position id of the event, or the last id before it
   */
  read(sent: ServerSentEvent, position: string): E | null;
  /** Whether no event follows. @param event what `read` made of it */
  isLast(event: E | null, sent: ServerSentEvent): boolean;
}

/**
 * Streams events until the last one. When the stream breaks, it opens another one that continues after the last event.
 * @throws {MainspringError} errors that a retry does not change; UNAVAILABLE if no server answered for too long; BAD_OPTION
 */
export async function* follow<E>(
  http: Pick<Http, "open">,
  runtime: Runtime,
  path: string,
  { signal, lastEventId = "", giveUpAfterSec = GIVE_UP_AFTER_SEC }: FollowOptions,
  followed: Followed<E>,
): AsyncGenerator<E, void, undefined> {
  const silence = new SilenceTracker(runtime, giveUpAfterSec);
  let last = lastEventId;
  for (let failures = 0; ; failures++) {
    if (failures > 0) await sleep(runtime, fullJitterMs(BACKOFF, failures, runtime.random()), signal);
    signal?.throwIfAborted();
    try {
      const headers: Record<string, string> = last === "" ? {} : { "last-event-id": last };
      const stream = await http.open(path, headers, signal);
      silence.answered();
      if (stream === null) return;
      for await (const sent of eventsIn(stream)) {
        const position = sent.id === "" ? last : sent.id;
        const event = followed.read(sent, position);
        if (event !== null || sent.data === "") last = position;
        if (event !== null) {
          failures = 0;
          yield event;
        }
        if (followed.isLast(event, sent)) return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof MainspringError && error.code !== "UNAVAILABLE" && error.code !== "TOO_MANY_REQUESTS")
        throw error;
      silence.failed(error);
    }
  }
}

/** Measures how long no server has answered, and gives up after the limit. */
class SilenceTracker {
  readonly #runtime: Runtime;
  readonly #forSec: number;
  #awaySinceMs: number | null = null;

  constructor(runtime: Runtime, forSec: number) {
    if (!(forSec >= 0))
      throw new MainspringError(
        "BAD_OPTION",
        `giveUpAfterSec: ${forSec} must be a number of seconds from 0, or Infinity`,
      );
    this.#runtime = runtime;
    this.#forSec = forSec;
  }

  answered(): void {
    this.#awaySinceMs = null;
  }

  /** @throws {MainspringError} UNAVAILABLE if no server has answered for longer than the limit */
  failed(cause: unknown): void {
    const nowMs = this.#runtime.monotonicMs();
    this.#awaySinceMs ??= nowMs;
    if (nowMs - this.#awaySinceMs < this.#forSec * 1_000) return;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MainspringError("UNAVAILABLE", `no server has answered for ${this.#forSec} s: ${why}`, { cause });
  }
}

/** Streams of executions. */
export const EXECUTION_EVENTS: Followed<ExecutionEvent> = {
  read: executionEvent,
  isLast: (event) => event?.type === "state" && FINAL_STATES.includes(event.execution.state),
};

/** The event as the SDK's type; null: this version of the SDK does not know the kind of event. */
function executionEvent({ event, id, data }: ServerSentEvent): ExecutionEvent | null {
  if (event === "state") return stateEvent(id, JSON.parse(data) as ExecutionSummary & { at?: string });
  if (event === "attempt") return { type: "attempt", id, record: JSON.parse(data) as AttemptRecord };
  if (event !== "progress" && event !== "log") return null;
  return { ...(JSON.parse(data) as Extract<ExecutionEvent, { type: "log" }>), type: event, id } as ExecutionEvent;
}

/**
 * A server of the previous release does not send the time at which the state began, so `updatedAt` of the row stands in
 * for it.
 */
function stateEvent(id: string, { at, ...execution }: ExecutionSummary & { at?: string }): ExecutionEvent {
  return { type: "state", id, at: at ?? execution.finishedAt ?? execution.updatedAt, execution };
}
