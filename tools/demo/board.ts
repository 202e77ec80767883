import { setTimeout as pause } from "node:timers/promises";
import type { Client, ExecutionSummary } from "@mainspring/sdk";
import { bar, LiveLines, type Screen } from "../../packages/cli/src/text/live-lines.ts";

const FINAL = new Set(["SUCCEEDED", "CANCELLED", "SKIPPED", "DEAD"]);
const LOOK_EVERY_MS = 200;
/** Interval of progress lines on an output without moving bars, in milliseconds. */
const TELL_EVERY_MS = 2_000;

/** Tracks and shows the progress of all executions of the demo. */
export class Board {
  readonly #client: Client;
  readonly #signal: AbortSignal;
  readonly #lines: LiveLines;
  readonly #stories = new Map<string, string[]>();
  #known = new Map<string, ExecutionSummary>();
  #looked = Promise.withResolvers<void>();

  constructor(client: Client, screen: Screen, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
    this.#lines = new LiveLines(screen);
  }

  print(line: string): void {
    this.#lines.print(line);
  }

  /** Adds executions to a story. */
  add(story: string, executionIds: readonly string[]): void {
    this.#stories.set(story, [...(this.#stories.get(story) ?? []), ...executionIds]);
  }

  /** Waits until the server lists all executions. A server that takes jobs through Kafka answers before that. */
  async listed(executionIds: readonly string[]): Promise<void> {
    await this.reached(executionIds, () => true);
  }

  /** Waits until all executions have the wanted state; by default a final one. */
  async reached(
    executionIds: readonly string[],
    wanted = (execution: ExecutionSummary) => FINAL.has(execution.state),
  ): Promise<ExecutionSummary[]> {
    for (;;) {
      const found = executionIds.flatMap((id) => this.#known.get(id) ?? []);
      if (found.length === executionIds.length && found.every(wanted)) return found;
      await this.#looked.promise;
      this.#signal.throwIfAborted();
    }
  }

  /** Polls the server until the signal aborts. */
  async watch(end: AbortSignal): Promise<void> {
    const begunMs = performance.now();
    for (let toldMs = begunMs; !end.aborted && !this.#signal.aborted; await pause(LOOK_EVERY_MS)) {
      await this.#look();
      this.#lines.show(this.#bars());
      if (this.#lines.isTerminal || performance.now() - toldMs < TELL_EVERY_MS) continue;
      toldMs = performance.now();
      this.print(`after ${((toldMs - begunMs) / 1_000).toFixed(0)} s: ${this.#total()}`);
    }
    await this.#look().catch(() => undefined);
    this.#lines.show(this.#bars());
  }

  /** Reads all executions. A wait ends with an error when its event can no longer occur. */
  async #look(): Promise<void> {
    const known = new Map<string, ExecutionSummary>();
    try {
      for await (const execution of this.#client.listExecutions({ limit: 1_000 }))
        known.set(execution.executionId, execution);
      this.#known = known;
    } finally {
      this.#looked.resolve();
      this.#looked = Promise.withResolvers();
    }
  }

  #bars(): string[] {
    return [...this.#stories].map(([story, ids]) => {
      const done = this.#countFinal(ids);
      return `  ${story.padEnd(25)} ${bar(done / ids.length)}  ${done} of ${ids.length}`;
    });
  }

  #total(): string {
    const all = [...this.#stories.values()].flat();
    return `${this.#countFinal(all)} of ${all.length} executions are final`;
  }

  #countFinal(ids: readonly string[]): number {
    return ids.filter((id) => FINAL.has(this.#known.get(id)?.state ?? "")).length;
  }
}
