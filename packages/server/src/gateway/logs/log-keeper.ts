import type { Logger } from "pino";
import type { ExecutionId, WorkerId } from "../../domain/ids.ts";
import { CountedWarnings } from "../../ports/counted-warnings.ts";
import type { LogLine, Token } from "../../ports/messages.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import type { LogPart, StoreLogs } from "../../ports/store-logs.ts";
import {
  LOGS_ALL_MAX_BYTES,
  LOGS_CHECKED_MAX,
  LOGS_RETRY_MS,
  LOGS_RUNNING_WRITE_MS,
  LOGS_STOP_MS,
  LOGS_WRITE_MAX_BYTES,
  LOGS_WRITE_MAX_PARTS,
  LOGS_WRITE_MS,
} from "../limits.ts";
import { OpenPart } from "./open-part.ts";
import { OpenParts } from "./open-parts.ts";

/** Largest attempt that a store can name. */
const ATTEMPT_MAX = 2 ** 31 - 1;
/** Parts of one attempt that can begin within a millisecond. */
const PARTS_PER_MS = 1_024;

type Line = Omit<LogLine, "seq">;
type Attempt = Pick<Token, "executionId" | "attempt">;

/** Dependencies of a node's keeper. */
interface NodeParts {
  config: { logUrl: string | null };
  life: { started(name: string, stop: () => Promise<void>): void };
  metrics: Pick<Metrics, "watch">;
  runtime: Runtime;
  log: Logger;
}

/** The keeper of a node, for its gateway; none if another system keeps the lines. It stops after the gateway. */
export function logsOf(
  { config, life, metrics, runtime, log }: NodeParts,
  store: { readonly logs: StoreLogs },
): { logs?: LogKeeper } {
  if (config.logUrl !== null) return {};
  const logs = new LogKeeper({ store, runtime, log });
  metrics.watch(() => ({ logLinesDropped: logs.dropped }));
  life.started("log lines", () => logs.stop());
  return { logs };
}

interface KeeperParts {
  store: { readonly logs: StoreLogs };
  runtime: Runtime;
  log: Logger;
}

/**
 * Keeps the last lines that the handlers of a gateway's workers log, and writes them to the store: those of ended
 * attempts within about a second, those of running ones every few seconds. Nothing waits for these writes, and a
 * handler that logs nothing causes none.
 */
export class LogKeeper {
  readonly #store: KeeperParts["store"];
  readonly #runtime: Runtime;
  readonly #warnings: CountedWarnings;
  readonly #parts = new OpenParts();
  #begun = 0;
  #dropped = 0;
  #timer: Timer | null = null;
  #writing: Promise<void> | null = null;
  /** Whether the next writes take the lines of running attempts, however young these lines are. */
  #isFlushing = false;
  #isStopped = false;

  constructor({ store, runtime, log }: KeeperParts) {
    this.#store = store;
    this.#runtime = runtime;
    this.#warnings = new CountedWarnings(log, runtime);
  }

  /** Number of lines that were dropped before the store had them, since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  add(item: Line, workerId: WorkerId): void {
    if (this.#isStopped || item.attempt > ATTEMPT_MAX) return;
    const { executionId, attempt, at, level, line, tenant = null } = item;
    const part = this.#parts.get(executionId, attempt, tenant) ?? this.#begin(item, workerId);
    this.#parts.change(part, () => part.add({ at, level, line }, this.#runtime.monotonicMs()));
    if (this.#parts.memory > LOGS_ALL_MAX_BYTES) this.#makeRoom();
    this.#writeSoon(LOGS_WRITE_MS);
  }

  /**
   * Notes that an attempt has ended, or that its worker is lost. Lines that still come are kept as well.
   * @param tenant owner of the worker's pool; null: nobody
   */
  close({ executionId, attempt }: Attempt, tenant: string | null = null): void {
    if (this.#parts.isEmpty) return;
    const part = this.#parts.get(executionId, attempt, tenant);
    if (part !== undefined) this.#close(part);
  }

  #close(part: OpenPart): void {
    if (part.isClosed) return;
    this.#parts.change(part, () => {
      part.isClosed = true;
    });
    this.#writeSoon(LOGS_WRITE_MS);
  }

  /**
   * Lines of an attempt in the memory of this gateway; null: none. The store has those that are not there any more.
   * @param tenant of the execution; undefined: only workers that serve all tenants count
   */
  partOf(executionId: ExecutionId, attempt: number, tenant?: string): LogPart | null {
    const own = tenant === undefined ? undefined : this.#parts.get(executionId, attempt, tenant);
    return (own ?? this.#parts.get(executionId, attempt, null))?.content() ?? null;
  }

  /**
   * Closes parts of attempts that have left their worker without a result. The gateway calls it about once a second.
   * @param isHeld whether the worker still has the attempt
   */
  prune(isHeld: (workerId: WorkerId, attempt: Attempt) => boolean): void {
    for (const part of this.#parts.someWritten(LOGS_CHECKED_MAX)) {
      if (!isHeld(part.workerId, part.token)) this.#close(part);
    }
  }

  /** Writes all lines soon, also those of running attempts: the gateway drains. */
  flush(): void {
    this.#isFlushing = true;
    this.#writeSoon(0);
  }

  /** Writes all lines, for some seconds at most. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#timer = null;
    let timer: Timer | null = null;
    const tooLong = new Promise<void>((resolve) => {
      timer = this.#runtime.setTimer(LOGS_STOP_MS, resolve);
    });
    await Promise.race([this.#writeLast(), tooLong]);
    (timer as Timer | null)?.cancel();
    if (this.#parts.hasUnwritten) {
      this.#warnings.warn(
        {},
        "the gateway stops before the store has taken all log lines of attempts; the rest is lost",
      );
    }
  }

  async #writeLast(): Promise<void> {
    await this.#writing;
    this.#isFlushing = true;
    await this.#write();
  }

  #begin({ executionId, attempt, at, tenant }: Line, workerId: WorkerId): OpenPart {
    const number = at * PARTS_PER_MS + (this.#begun++ % PARTS_PER_MS);
    const part = new OpenPart({ executionId, attempt }, workerId, tenant ?? null, number);
    this.#parts.add(part);
    return part;
  }

  #makeRoom(): void {
    while (this.#parts.memory > LOGS_ALL_MAX_BYTES) {
      const part = this.#parts.leastNeeded();
      if (part === null) return;
      if (part.unwritten > 0)
        this.#drop(part, "the gateway drops log lines of attempts, because the store takes them too slowly");
      else this.#parts.forget(part);
    }
  }

  #drop(part: OpenPart, message: string): void {
    this.#dropped += part.unwritten;
    this.#parts.forget(part);
    this.#warnings.warn({ ...part.token, lines: part.unwritten }, message);
  }

  #writeSoon(waitMs: number): void {
    if (this.#isStopped || this.#writing !== null || (this.#timer !== null && waitMs > 0)) return;
    this.#timer?.cancel();
    this.#timer = this.#runtime.setTimer(waitMs, () => {
      this.#timer = null;
      this.#writing = this.#write().then((isDone) => {
        this.#writing = null;
        if (this.#parts.hasUnwritten) this.#writeSoon(isDone ? LOGS_WRITE_MS : LOGS_RETRY_MS);
      });
    });
  }

  /** Writes what is due, one write after the other. @returns whether the store has answered every write */
  async #write(): Promise<boolean> {
    const isUrgent = this.#isFlushing || this.#parts.memory > LOGS_ALL_MAX_BYTES / 2;
    this.#isFlushing = false;
    const due = this.#parts.toWrite(this.#runtime.monotonicMs() - (isUrgent ? 0 : LOGS_RUNNING_WRITE_MS));
    for (const batch of batchesOf(due)) {
      // Some parts may have been dropped during an earlier write, because the memory was full.
      const kept = batch.filter((part) => this.#parts.has(part));
      if (kept.length > 0 && !(await this.#writeBatch(kept.map((part) => [part, part.content()])))) return false;
    }
    return true;
  }

  async #writeBatch(batch: readonly [OpenPart, LogPart][]): Promise<boolean> {
    for (const [part] of batch) {
      part.isBeingWritten = true;
      this.#parts.place(part);
    }
    const error = await this.#store.logs.keep(batch.map(([, content]) => content)).then(
      () => null,
      (error: unknown) => ({ error }),
    );
    for (const [part] of batch) part.isBeingWritten = false;
    if (error === null) {
      const nowMs = this.#runtime.monotonicMs();
      for (const [part, { received }] of batch) this.#parts.change(part, () => part.wrote(received, nowMs));
      return true;
    }
    return this.#failed(batch, error.error);
  }

  #failed(batch: readonly [OpenPart, LogPart][], error: unknown): boolean {
    if (error instanceof StoreUnavailable) {
      this.#parts.restore(batch.map(([part]) => part));
      this.#warnings.warn({ err: error }, "the gateway could not write log lines of attempts, and tries again");
      return false;
    }
    // The store would refuse the same data again.
    for (const [part] of batch)
      this.#drop(part, "the gateway drops log lines of attempts, because the store refuses them");
    this.#warnings.warn({ err: error }, "the store refused log lines of attempts");
    return true;
  }
}

function* batchesOf(parts: readonly OpenPart[]): Generator<OpenPart[]> {
  let batch: OpenPart[] = [];
  let bytes = 0;
  for (const part of parts) {
    batch.push(part);
    bytes += part.memory;
    if (bytes < LOGS_WRITE_MAX_BYTES && batch.length < LOGS_WRITE_MAX_PARTS) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}
