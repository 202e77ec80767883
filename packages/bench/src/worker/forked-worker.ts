import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { leash } from "../services/leash.ts";
import type { TallyReport } from "./tally.ts";
import type { FromWorker, ToWorker } from "./worker-messages.ts";

type Order = ToWorker extends infer M ? (M extends { id: number } ? Omit<M, "id"> : never) : never;

interface Waiting {
  resolve(report: TallyReport | null): void;
  reject(error: Error): void;
}

/**
 * Default time without a started job after which jobs count as lost, in milliseconds; peers give up a dead worker's jobs within
 * half of it.
 */
const STALLED_MS = 180_000;

/** A contender's worker process, as seen by the benchmark. */
export class ForkedWorker implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #opened = Promise.withResolvers<Record<string, string>>();
  readonly #waiting = new Map<number, Waiting>();
  #orders = 0;
  #runs = 0;
  #mark: { runs: number; reached: () => void; failed: (error: Error) => void; limit: NodeJS.Timeout } | null = null;
  #about: Record<string, string> = {};

  private constructor(child: ChildProcess) {
    this.#child = child;
    leash(this.#child);
    this.#child.on("message", (message: FromWorker) => this.#hear(message));
    this.#child.once("exit", (code, signal) => this.#ended(`the worker process ended: ${signal ?? code}`));
  }

  /** @returns promise that resolves when the process is ready to start */
  static open(file: string | URL, settings: object): Promise<ForkedWorker> {
    return ForkedWorker.#ready(fork(file, [JSON.stringify(settings)], { serialization: "advanced" }));
  }

  /** Starts a program that is not Node, and that follows the same commands as lines of JSON. */
  static openProgram(program: string, settings: object): Promise<ForkedWorker> {
    const stdio = ["ignore", "inherit", "inherit", "ipc"] as const;
    const args = ["worker", JSON.stringify(settings)];
    return ForkedWorker.#ready(spawn(program, args, { stdio: [...stdio], serialization: "json" }));
  }

  static async #ready(child: ChildProcess): Promise<ForkedWorker> {
    const worker = new ForkedWorker(child);
    worker.#about = await worker.#opened.promise;
    return worker;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get about(): Record<string, string> {
    return this.#about;
  }

  /** Number of handlers that it has started since `expect`, by its last report. */
  get runs(): number {
    return this.#runs;
  }

  /** Resets its counts; the next jobs are 0 to `jobs` - 1. */
  async expect(jobs: number): Promise<void> {
    await this.#order({ kind: "EXPECT", jobs });
    this.#runs = 0;
  }

  async start(): Promise<void> {
    await this.#order({ kind: "START" });
  }

  async stop(): Promise<void> {
    await this.#order({ kind: "STOP" });
  }

  /**
   * @returns promise that resolves when it has started this number of handlers @throws it has started none for this
   * time, so some are lost
   */
  async reached(runs: number, stalledMs = STALLED_MS): Promise<void> {
    if (this.#runs >= runs) return;
    const { promise, resolve: reached, reject: failed } = Promise.withResolvers<void>();
    const late = () => failed(new Error(`of ${runs} jobs only ${this.#runs} were started`));
    const limit = setTimeout(late, stalledMs);
    this.#mark = { runs, reached, failed, limit };
    await promise.finally(() => clearTimeout(limit));
  }

  async report(): Promise<TallyReport> {
    const report = await this.#order({ kind: "REPORT" });
    if (report === null) throw new Error("the worker process has no report");
    // A report in JSON has a plain list.
    return { ...report, startedAtMs: Float64Array.from(report.startedAtMs) };
  }

  /** Kills the process (SIGKILL). */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }

  /** Kills the process without waiting for its work, because its store is removed too. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #order(order: Order): Promise<TallyReport | null> {
    const id = ++this.#orders;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ ...order, id });
    });
  }

  #hear(message: FromWorker): void {
    if (message.kind === "READY") this.#opened.resolve(message.about);
    else if (message.kind === "RUNS") this.#advance(message.runs);
    else {
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.kind === "DONE") waiting?.resolve(message.report);
      else waiting?.reject(new Error(message.reason));
    }
  }

  #advance(runs: number): void {
    this.#runs = runs;
    this.#mark?.limit.refresh();
    if (this.#mark === null || runs < this.#mark.runs) return;
    this.#mark.reached();
    this.#mark = null;
  }

  #ended(why: string): void {
    const error = new Error(why);
    this.#opened.reject(error);
    this.#mark?.failed(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
