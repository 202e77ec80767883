import { spawn } from "node:child_process";
import { leash } from "../../services/leash.ts";
import type { BenchJob } from "../contender.ts";

type Answer = { kind: "READY" } | { kind: "DONE"; id: number } | { kind: "FAILED"; id: number; reason: string };

/** A process with River's client, which inserts jobs. */
export class RiverClient implements AsyncDisposable {
  readonly #child;
  readonly #ready = Promise.withResolvers<void>();
  readonly #waiting = new Map<number, PromiseWithResolvers<void>>();
  #orders = 0;

  private constructor(program: string, store: string) {
    this.#child = spawn(program, ["client", JSON.stringify({ store })], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      serialization: "json",
    });
    leash(this.#child);
    this.#child.on("message", (answer: Answer) => this.#hear(answer));
    this.#child.once("exit", (code, signal) => this.#ended(new Error(`River's client ended: ${signal ?? code}`)));
  }

  /** Starts the client, which makes River's tables. */
  static async open(program: string, store: string): Promise<RiverClient> {
    const client = new RiverClient(program, store);
    await client.#ready.promise;
    return client;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  insert(jobs: readonly BenchJob[]): Promise<void> {
    const id = ++this.#orders;
    const waiting = Promise.withResolvers<void>();
    this.#waiting.set(id, waiting);
    this.#child.send({ kind: "INSERT", id, insert: jobs });
    return waiting.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await ended;
  }

  #hear(answer: Answer): void {
    if (answer.kind === "READY") return this.#ready.resolve();
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (answer.kind === "DONE") waiting?.resolve();
    else waiting?.reject(new Error(answer.reason));
  }

  #ended(error: Error): void {
    this.#ready.reject(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
