import type { Checkpoint, Steps } from "../steps/step-context.ts";
import type { SpawnNode, SpawnOptions } from "./spawn.ts";

/** Data about a handler's attempt, and the functions that a running handler can call. */
export interface TaskContext {
  readonly executionId: string;
  /** Number of the attempt, from 1. Every assignment raises it, even after a lost worker or a hand-back. */
  readonly attempt: number;
  /**
   * Number of failures before this attempt, and the number after which the execution is DEAD: `failures + 1 ===
   * maxAttempts` means the last try.
   */
  readonly failures: number;
  readonly maxAttempts: number;
  /**
   * Fencing token, `<execution id>:<attempt>`. The server refuses everything that an older attempt reports. A handler
   * can protect its own writes likewise: store the attempt number with each write, and write only where the stored
   * attempt is not greater.
   */
  readonly fence: string;
  /**
   * Trace context by W3C for what the handler does: the header `traceparent` of its own requests. With `@opentelemetry/api`
   * installed, the handler runs in this context already. null: the job was submitted without one, and the servers export
   * no spans.
   */
  readonly traceparent: string | null;
  /** Time at which the execution was planned to run. */
  readonly scheduledAt: Date;
  /** Time at which this attempt times out, as a hard limit. */
  readonly deadline: Date;
  /**
   * Time that the handler has to stop after `signal` has aborted, in milliseconds; after that the server goes on
   * without the handler.
   */
  readonly cancelGraceMs: number;
  /**
   * Aborts when the execution is cancelled, times out, is suspended or was given to another worker, and when the worker
   * leaves. Its reason is an `AttemptAborted`. A handler that ignores the signal keeps its slot until the handler really ends.
   */
  readonly signal: AbortSignal;
  /**
   * Waits at least `delayMs` milliseconds (0 or more) by the worker's clock, which costs no time in a simulated test.
   * When the signal aborts, the wait ends early and rejects with the signal's reason.
   */
  sleep(delayMs: number): Promise<void>;
  /**
   * Reports the progress of the handler, for people. The worker sends only the latest report, about ten times a second.
   * @param fraction finished part, 0 to 1; values outside are clamped
   */
  progress(fraction: number, message?: string): void;
  /**
   * Adds a line of at most 8 KiB to the execution's log, of which the server keeps the last 64 KiB of each attempt. The
   * worker takes a thousand lines in a tenth of a second and drops further ones.
   */
  log(line: string): void;
  /**
   * Names the branch that a workflow takes after this node: an edge with the condition `BRANCH:good` is met if the node's
   * successful attempt called `ctx.branch("good")`. The last call of an attempt wins, and attempts that do not succeed name no
   * branch. A call has no effect in jobs that are not nodes of a workflow.
   * @param name 1 to 64 characters of A-Z, a-z, 0-9, `_`, `.` and `-`
   * @throws {TerminalError} InvalidBranch: another text
   */
  branch(name: string): void;
  /**
   * Adds nodes to the run of the workflow whose node this attempt runs: with the commit that makes the node SUCCEEDED, so a failed
   * attempt adds nothing, and a repeated one nothing twice. The nodes start then, and the nodes that depend on this node wait for
   * their end, unless `detached`. An attempt adds at most 1,000 nodes with 1 MiB, in one or several calls. The run names an
   * added node by this node and its own name: `list/page-1`.
   * @throws {TerminalError} InvalidSpawn: the attempt runs no node that may add nodes, or has ended; a node is wrong; there are
   * too many. The server finds the other mistakes, such as a cycle: the node is DEAD with that error then
   */
  spawn(nodes: readonly SpawnNode[], options?: SpawnOptions): void;
  /** Durable steps: parts of the handler that later attempts of the execution do not repeat. */
  readonly step: Steps;
  /**
   * Stores how far the handler has come: `await ctx.checkpoint({ row })`. `ctx.checkpoint.last` is the newest value of
   * this attempt, else of an earlier one.
   */
  readonly checkpoint: Checkpoint;
}

/**
 * Reason for which an attempt is told to stop. SUSPENDED: all that the handler waits for are steps that sleep or wait for
 * signals, so the attempt ends without a failure, and the execution continues as another attempt.
 */
export type AbortCause = "CANCELLED" | "TIMED_OUT" | "SUPERSEDED" | "WORKER_LEAVES" | "SUSPENDED";

/** Reason of `ctx.signal` once it has aborted, and error of steps that wait when their attempt is over or suspends. */
export class AttemptAborted extends Error {
  // Libraries use this name to tell an abort from a failure.
  override readonly name = "AbortError";
  /** ENDED: the handler has returned or thrown, and has not waited for a step. */
  readonly reason: AbortCause | "ENDED";

  constructor(fence: string, reason: AbortCause | "ENDED") {
    super(`attempt ${fence} was aborted: ${reason}`);
    this.reason = reason;
  }
}
