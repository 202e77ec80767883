import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { leash } from "../services/leash.ts";
import type { TallyReport } from "./tally.ts";
import type { FromWorker, ToWorker } from "./worker-messages.ts";

type Order = ToWorker extends infer M ? (M extends { id: number } ? Omit<M, "id"> : never) : never;

interface Waiting {
  resolve(report: TallyReport | null): void;
  reject(error: Error): void;
}

/** Some are lost that do not start for so long; peers give up a dead worker's jobs within half of it. */
const STALLED_MS = 180_000;

/** A contender's worker process, from outside. */
export class ForkedWorker implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ready = Promise.withResolvers<Record<string, string>>();
  readonly #waiting = new Map<number, Waiting>();
  #orders = 0;
  #runs = 0;
  #mark: { runs: number; reached: () => void; failed: (error: Error) => void; limit: NodeJS.Timeout } | null = null;
  #about: Record<string, string> = {};

  private constructor(file: URL, settings: object) {
    this.#child = fork(fileURLToPath(file), [JSON.stringify(settings)], { serialization: "advanced" });
    leash(this.#child);
    this.#child.on("message", (message: FromWorker) => this.#hear(message));
    this.#child.once("exit", (code, signal) => this.#ended(`the worker process ended: ${signal ?? code}`));
  }

  /** @returns when it can be told to start */
  static async open(file: URL, settings: object): Promise<ForkedWorker> {
    const worker = new ForkedWorker(file, settings);
    worker.#about = await worker.#ready.promise;
    return worker;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get about(): Record<string, string> {
    return this.#about;
  }

  /** How many handlers it has started since `expect`, as last told. */
  get runs(): number {
    return this.#runs;
  }

  /** Forgets what it has counted; the next jobs are 0 to `jobs` - 1. */
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

  /** @returns when it has started that many handlers @throws it has started none for three minutes: some are lost */
  async reached(runs: number): Promise<void> {
    if (this.#runs >= runs) return;
    const { promise, resolve: reached, reject: failed } = Promise.withResolvers<void>();
    const late = () => failed(new Error(`of ${runs} jobs only ${this.#runs} were started`));
    const limit = setTimeout(late, STALLED_MS);
    this.#mark = { runs, reached, failed, limit };
    await promise.finally(() => clearTimeout(limit));
  }

  async report(): Promise<TallyReport> {
    const report = await this.#order({ kind: "REPORT" });
    if (report === null) throw new Error("the worker process has no report");
    return report;
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }

  /** Its present work is not worth waiting for: its store goes too. */
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
    if (message.kind === "READY") this.#ready.resolve(message.about);
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
    this.#ready.reject(error);
    this.#mark?.failed(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
