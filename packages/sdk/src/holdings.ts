import { create } from "@bufbuild/protobuf";
import { type Finished, type Held, HeldSchema, type Token } from "@mainspring/proto";
import { finishedMessage } from "./messages.ts";
import type { AttemptRef, FinishedReport } from "./work.ts";

/** How many executions that are done with are remembered, so that a late repeat of their Assign starts nothing. */
const RECENT_MIN = 4_096;

interface Holding {
  token: Token;
  /** 0: not started. */
  startedAtMs: number;
  /** Kept until the server acknowledged or refused it. */
  finished: Finished | null;
}

/**
 * Every attempt that this worker holds: waiting, running, or finished and not acknowledged. One an execution: the server
 * assigns the next attempt only when it is done with the one before, so that one is dropped then.
 */
export class Holdings {
  readonly #held = new Map<string, Holding>();
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

  /** @returns false where it, or a later attempt, is held already or was until recently: the Assign is a repeat */
  take(token: Token): boolean {
    const { executionId, attempt } = token;
    const before = this.#held.get(executionId);
    const known = before?.token.attempt ?? this.#recent.get(executionId) ?? this.#older.get(executionId) ?? 0;
    if (attempt <= known) return false;
    if (before === undefined || before.finished !== null) this.#unfinished++;
    this.#held.set(executionId, { token, startedAtMs: 0, finished: null });
    return true;
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

  /** Acknowledged or refused: it is done with. */
  settle(token: Token): void {
    const holding = this.#find(token);
    if (holding === undefined) return;
    this.#held.delete(token.executionId);
    if (holding.finished === null) this.#unfinished--;
    this.#remember(token);
  }

  /** Results that were neither acknowledged nor refused. */
  *results(): Generator<Finished> {
    for (const { finished } of this.#held.values()) if (finished !== null) yield finished;
  }

  /** For the hello. */
  list(): Held[] {
    return Array.from(this.#held.values(), ({ token, startedAtMs, finished }) =>
      create(HeldSchema, { token, startedAtMs: BigInt(startedAtMs), finished: finished !== null }),
    );
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
