import { isFinal } from "../../domain/execution.ts";
import type { EpochMs } from "../../domain/ids.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { HandlerOutput } from "../../ports/messages.ts";
import type { ExecutionSummary, ExecutionView } from "../../ports/store-queries.ts";
import { formatInstant } from "../http/instants.ts";
import { attemptBody, executionSummaryBody } from "../views.ts";
import { type EventCursor, encodeEventId } from "./event-cursor.ts";
import type { EventStream } from "./event-stream.ts";
import type { Follower } from "./followers.ts";
import type { Overlaid } from "./live.ts";
import type { Teller } from "./stream-until-final.ts";

/** Largest number of past attempts that a stream sends at its start. */
const PAST_ATTEMPTS_MAX = 100;

type FullRow = Overlaid<ExecutionView>;

/**
 * Sends one client the events of its execution: states with the times at which they began, attempts that did not
 * succeed, and the handler's output.
 */
export class EventTeller implements Follower, Teller {
  row: ExecutionSummary;
  readonly tenant: Tenant;
  told: Promise<void> = Promise.resolve();
  readonly #read: () => Promise<FullRow | null>;
  readonly #first: FullRow;
  #cursor: EventCursor;
  /** Number of the last attempt whose end was sent, or is known from before. */
  #ended: number;
  #stream: EventStream | null = null;

  /** @param read reads the execution as it is now, with its attempts */
  constructor(tenant: Tenant, first: FullRow, seen: EventCursor, read: () => Promise<FullRow | null>) {
    this.tenant = tenant;
    this.row = first;
    this.#first = first;
    this.#cursor = seen;
    this.#read = read;
    this.#ended = endedBefore(seen.state, seen.attempt);
  }

  get seq(): number {
    return this.#cursor.seq;
  }

  begin(stream: EventStream): void {
    this.#stream = stream;
    this.#tellAttempts(this.#first);
    const { state, attempt } = this.#cursor;
    if (state !== this.#first.state || attempt !== this.#first.attempt)
      this.#tellState(this.#first, sinceOf(this.#first, this.#first.attempts));
  }

  /** @param full the same row with its attempts, if they were just read */
  changed(row: Overlaid, full: FullRow | null = null): void {
    this.row = row;
    this.told = this.told.then(() => this.#tell(row, full));
  }

  ended(last: ExecutionView): void {
    this.changed(last, last);
  }

  heard(item: HandlerOutput): void {
    const { attempt, seq } = item;
    this.#cursor = { ...this.#cursor, seq };
    const id = encodeEventId(this.#cursor);
    const at = formatInstant(item.at);
    if (item.kind === "LOG") this.#stream?.send("log", id, { attempt, at, level: item.level, line: item.line });
    else this.#stream?.send("progress", id, { attempt, at, fraction: item.fraction, message: item.message });
  }

  async #tell(row: Overlaid, known: FullRow | null): Promise<void> {
    // Owners do not keep attempts that have ended; only the rows do.
    const isBehind = endedBefore(row.state, row.attempt) > this.#ended;
    const full = known ?? (isBehind ? await this.#readSafely() : null);
    if (full === null) return this.#tellState(row, sinceOf(row));
    this.#tellAttempts(full);
    // The final state itself is sent when the row has it.
    const isNewer = full.attempt >= row.attempt && (isFinal(row.state) || !isFinal(full.state));
    if (!isNewer) return this.#tellState(row, sinceOf(row));
    this.row = full;
    this.#tellState(full, sinceOf(full, full.attempts));
  }

  /** Reads the row; null: the store does not answer, and the stream goes on without the attempts. */
  async #readSafely(): Promise<FullRow | null> {
    try {
      return await this.#read();
    } catch {
      return null;
    }
  }

  #tellAttempts({ attempts }: FullRow): void {
    const news = attempts.filter(({ attempt, state }) => attempt > this.#ended && state !== "SUCCEEDED");
    for (const ended of news.slice(-PAST_ATTEMPTS_MAX)) {
      const id = encodeEventId({ ...this.#cursor, state: "PENDING", attempt: ended.attempt });
      this.#stream?.send("attempt", id, attemptBody(this.row, ended));
    }
    this.#ended = Math.max(this.#ended, ...attempts.map(({ attempt }) => attempt));
  }

  #tellState(row: ExecutionSummary, at: EpochMs): void {
    const { state, attempt } = row;
    this.#cursor = { ...this.#cursor, state, attempt };
    this.#stream?.send("state", encodeEventId(this.#cursor), { ...executionSummaryBody(row), at: formatInstant(at) });
  }
}

/** Number of attempts that have ended when an execution is in this state. */
function endedBefore(state: EventCursor["state"], attempt: number): number {
  if (state === null) return 0;
  return state === "SCHEDULED" || state === "RUNNING" ? attempt - 1 : attempt;
}

/** Time at which the state began. @param attempts ended attempts, if known */
function sinceOf(row: Overlaid, attempts: FullRow["attempts"] = []): EpochMs {
  if (isFinal(row.state)) return row.finishedAt ?? row.updatedAt;
  const lastEnd = row.state === "PENDING" ? attempts.at(-1)?.finishedAt : undefined;
  return row.since ?? lastEnd ?? row.updatedAt;
}
