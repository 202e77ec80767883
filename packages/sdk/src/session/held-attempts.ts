import { create } from "@bufbuild/protobuf";
import { type Assign, type Finished, type Held, HeldSchema, type ShardEpoch, type Token } from "@mainspring/proto";
import { finishedMessage } from "./messages.ts";
import type { AttemptRef, FinishedReport } from "./work.ts";

/** Number of settled executions that are remembered at least, so that a late repeat of their Assign starts nothing. */
const RECENT_MIN = 4_096;

interface Holding {
  token: Token;
  /** 0: not started. */
  startedAtMs: number;
  /** Kept until the server acknowledges or refuses it. null: the attempt waits or runs. */
  finished: Finished | null;
}

/**
 * Answer to an Assign. NEW: the worker takes the attempt. HELD: the worker has the attempt already. SETTLED: the attempt, or a
 * later one, was settled before. STALE: the Assign is older than an epoch that the worker knows. The worker answers SETTLED
 * and STALE with RELEASED, because a gateway that believes that the worker has the attempt would wait for it for ever.
 */
export type Taking = "NEW" | "HELD" | "SETTLED" | "STALE";

/**
 * Every attempt that this worker holds: waiting, running, or finished and not acknowledged. One per execution: the server
 * assigns the next attempt only after it has ended the one before, so the worker drops that one then.
 */
export class Holdings {
  readonly #held = new Map<string, Holding>();
  /** Attempts that are over for the server while their handlers may still run, by token. */
  readonly #over = new Map<string, Token>();
  /** Highest epoch by shard that an Assign or a question has named. */
  readonly #epochs = new Map<number, bigint>();
  /** Latest attempt by execution, in two generations: when the younger is full it becomes the older. */
  #recent = new Map<string, number>();
  #older = new Map<string, number>();
  #unfinished = 0;

  get size(): number {
    return this.#held.size;
  }

  /** Waiting or running. */
  get unfinished(): number {
    return this.#unfinished;
  }

  /** Assigns of older epochs are STALE from now on. */
  learn(epochs: readonly ShardEpoch[]): void {
    for (const { shard, epoch } of epochs) {
      if (epoch > (this.#epochs.get(shard) ?? 0n)) this.#epochs.set(shard, epoch);
    }
  }

  take({ epoch }: Pick<Assign, "epoch">, token: Token): Taking {
    const { executionId, attempt, shard } = token;
    const before = this.#held.get(executionId);
    if (before?.token.attempt === attempt) return "HELD";
    const newest = this.#epochs.get(shard) ?? 0n;
    // A gateway from before there were epochs says 0.
    if (epoch !== 0n && epoch < newest) return "STALE";
    if (epoch > newest) this.#epochs.set(shard, epoch);
    const known = before?.token.attempt ?? this.#recent.get(executionId) ?? this.#older.get(executionId) ?? 0;
    if (attempt <= known) return "SETTLED";
    if (before !== undefined) this.#drop(before);
    this.#unfinished++;
    this.#held.set(executionId, { token, startedAtMs: 0, finished: null });
    return "NEW";
  }

  /** @returns null where it is not held (any more) */
  tokenOf(ref: AttemptRef): Token | null {
    return this.#find(ref)?.token ?? null;
  }

  start(ref: AttemptRef, startedAtMs: number): Token | null {
    const holding = this.#find(ref);
    if (holding === undefined) return null;
    holding.startedAtMs = startedAtMs;
    return holding.token;
  }

  /** @returns what to send; null where nobody wants it any more */
  finish(report: FinishedReport): Finished | null {
    const holding = this.#find(report);
    if (holding === undefined || holding.finished !== null) return null;
    holding.startedAtMs = report.startedAtMs;
    holding.finished = finishedMessage(holding.token, report);
    this.#unfinished--;
    return holding.finished;
  }

  /** The handler of an attempt that is over has ended. @returns the token to name in `ended`; null: its slot was free */
  end(ref: AttemptRef): Token | null {
    const holding = this.#find(ref);
    if (holding?.finished?.stillRunning === true) {
      holding.finished.stillRunning = false;
      return holding.token;
    }
    if (this.#over.size === 0) return null;
    const token = this.#over.get(keyOf(ref)) ?? null;
    this.#over.delete(keyOf(ref));
    return token;
  }

  /** Acknowledged or refused: the server is done with it. */
  settle(token: Token): void {
    const holding = this.#find(token);
    if (holding === undefined) return;
    this.#held.delete(token.executionId);
    this.#drop(holding);
    this.#remember(token);
  }

  /** The result of this attempt, to be sent once more; null: it has none. */
  resultOf(ref: AttemptRef): Finished | null {
    return this.#find(ref)?.finished ?? null;
  }

  /** Results that were neither acknowledged nor refused. */
  *results(): Generator<Finished> {
    for (const { finished } of this.#held.values()) if (finished !== null) yield finished;
  }

  /** For the hello: every attempt that the worker holds, and those that only keep a slot. */
  list(): Held[] {
    const over = Array.from(this.#over.values(), (token) => create(HeldSchema, { token, over: true }));
    return [...Array.from(this.#held.values(), heldMessage), ...over];
  }

  /** Attempts among `tokens` that the worker holds; all of them where `tokens` is empty. */
  among(tokens: readonly Token[]): Held[] {
    if (tokens.length === 0) return this.list();
    return tokens.flatMap((token) => {
      const holding = this.#find(token);
      return holding === undefined ? [] : [heldMessage(holding)];
    });
  }

  /** The server wants no more of it. Its handler may go on for a while, and keeps its slot until then. */
  #drop({ token, finished }: Holding): void {
    if (finished === null) this.#unfinished--;
    if (finished === null || finished.stillRunning) this.#over.set(keyOf(token), token);
  }

  #find({ executionId, attempt }: AttemptRef): Holding | undefined {
    const holding = this.#held.get(executionId);
    return holding?.token.attempt === attempt ? holding : undefined;
  }

  #remember({ executionId, attempt }: AttemptRef): void {
    this.#recent.set(executionId, attempt);
    if (this.#recent.size < RECENT_MIN) return;
    this.#older = this.#recent;
    this.#recent = new Map();
  }
}

function keyOf({ executionId, attempt }: AttemptRef): string {
  return `${executionId}:${attempt}`;
}

function heldMessage({ token, startedAtMs, finished }: Holding): Held {
  const over = finished?.stillRunning === true;
  return create(HeldSchema, { token, startedAtMs: BigInt(startedAtMs), finished: finished !== null, over });
}
