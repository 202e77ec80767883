import { type AttemptRecord, type ExecutionSummary, FINAL_STATES } from "./api-types.ts";
import { fullJitterMs } from "./backoff.ts";
import { MainspringError } from "./errors.ts";
import { eventsIn, type ServerSentEvent } from "./event-lines.ts";
import type { Http } from "./http.ts";
import type { ExecutionEvent } from "./operator-types.ts";
import { type Runtime, sleep } from "./runtime.ts";

const BACKOFF = { firstMs: 200, maxMs: 5_000 };
/** Longer than an upgrade, a failover of the store or a restart of the machine takes. */
const GIVE_UP_AFTER_SEC = 300;

export interface FollowOptions {
  signal?: AbortSignal;
  /** The id of the last event that was seen: goes on behind it. */
  lastEventId?: string;
  /**
   * How long no server may answer before it fails with UNAVAILABLE; every answer begins it anew. 0: at the first failure.
   * Infinity: never. Default: 300.
   */
  giveUpAfterSec?: number;
}

/**
 * Events of an execution, until it is final. A stream that breaks is opened again behind the last event.
 * @throws {MainspringError} what trying again does not change; UNAVAILABLE where no server answered for too long, BAD_OPTION
 */
export async function* follow(
  http: Http,
  runtime: Runtime,
  path: string,
  { signal, lastEventId = "", giveUpAfterSec = GIVE_UP_AFTER_SEC }: FollowOptions,
): AsyncGenerator<ExecutionEvent, void, undefined> {
  const patience = new Patience(runtime, giveUpAfterSec);
  let last = lastEventId;
  for (let failures = 0; ; failures++) {
    if (failures > 0) await sleep(runtime, fullJitterMs(BACKOFF, failures, runtime.random()), signal);
    signal?.throwIfAborted();
    try {
      const headers: Record<string, string> = last === "" ? {} : { "last-event-id": last };
      const stream = await http.open(path, headers, signal);
      patience.answered();
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
      patience.failed(error);
    }
  }
}

/** Runs out while nobody answers. */
class Patience {
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

  /** @throws {MainspringError} UNAVAILABLE */
  failed(cause: unknown): void {
    const nowMs = this.#runtime.monotonicMs();
    this.#awaySinceMs ??= nowMs;
    if (nowMs - this.#awaySinceMs < this.#forSec * 1_000) return;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MainspringError("UNAVAILABLE", `no server has answered for ${this.#forSec} s: ${why}`, { cause });
  }
}

/** null: of a kind that this version does not know. */
function executionEvent({ event, id, data }: ServerSentEvent): ExecutionEvent | null {
  if (event === "state") return stateEvent(id, JSON.parse(data) as ExecutionSummary & { at?: string });
  if (event === "attempt") return { type: "attempt", id, record: JSON.parse(data) as AttemptRecord };
  if (event !== "progress" && event !== "log") return null;
  return { ...(JSON.parse(data) as Extract<ExecutionEvent, { type: "log" }>), type: event, id } as ExecutionEvent;
}

/** A server of the release before does not say when the state began: its row changed at about that time. */
function stateEvent(id: string, { at, ...execution }: ExecutionSummary & { at?: string }): ExecutionEvent {
  return { type: "state", id, at: at ?? execution.finishedAt ?? execution.updatedAt, execution };
}
