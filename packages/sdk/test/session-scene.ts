import type { WorkerMessage } from "@mainspring/proto";
import type { MainspringError } from "../src/errors.ts";
import { Session } from "../src/session.ts";
import { StallGuard, stallCells } from "../src/stall-guard.ts";
import type { FinishedReport, Orders, Report } from "../src/work.ts";
import { ManualRuntime } from "./manual-runtime.ts";
import { ScriptedLink, type ServerInit } from "./scripted-link.ts";

const PROFILE = {
  workerId: "worker-1",
  name: "a worker",
  pool: "default",
  handlers: ["noop"],
  capabilities: ["gpu"],
  slots: 4,
  prefetch: 10,
};
export const SILENCE: Report = { started: [], finished: [], ended: [], progress: [], logs: [] };

/** A session between a link and an executor that are both played by the test. */
export class SessionScene {
  readonly runtime = new ManualRuntime();
  readonly link = new ScriptedLink();
  readonly orders: Orders[] = [];
  readonly warnings: string[] = [];
  /** Why it left, each time that it said so. */
  readonly goodbyes: (MainspringError | null)[] = [];
  welcomes = 0;
  lagMs = 0;
  readonly session = new Session(PROFILE, this.link, this.runtime, new StallGuard(stallCells(), this.runtime), {
    orders: (orders) => this.orders.push(orders),
    welcomed: () => this.welcomes++,
    left: (error) => this.goodbyes.push(error),
    warn: (message) => this.warnings.push(message),
    loopLagMs: () => this.lagMs,
  });

  /** Started and welcomed, with nothing left to be read. */
  static welcomed(): SessionScene {
    const scene = new SessionScene();
    scene.session.start();
    scene.welcome();
    scene.sent();
    return scene;
  }

  welcome(message: Omit<ServerInit, "$typeName"> = {}): void {
    this.say({ welcome: { heartbeatIntervalMs: 10_000, gateway: "gateway-1" }, ...message });
  }

  say(message: ServerInit): void {
    this.link.connection.say(message);
  }

  /** Messages of the worker on its latest connection since the last look. */
  sent(): WorkerMessage[] {
    return this.link.connection.take();
  }

  /** The connection breaks, and the worker opens another one. */
  async reconnect(): Promise<void> {
    const before = this.link.connections.length;
    this.link.connection.break();
    await this.runtime.advance(3_000);
    if (this.link.connections.length === before) throw new Error("the worker has not connected again");
  }

  start(executionId: string, attempt = 1): void {
    this.session.report({ ...SILENCE, started: [{ executionId, attempt, startedAtMs: this.runtime.now() }] });
  }

  finish(executionId: string, over: Partial<FinishedReport> = {}): void {
    this.session.report({ ...SILENCE, finished: [finished(executionId, over)] });
  }
}

export function finished(executionId: string, over: Partial<FinishedReport> = {}): FinishedReport {
  const times = { startedAtMs: 1_000_000, finishedAtMs: 1_000_005, stillRunning: false };
  const ending = { outcome: "SUCCEEDED", result: '"done"', error: null, advice: null } as const;
  return { executionId, attempt: 1, ...ending, ...times, ...over };
}

export function token(executionId: string, attempt = 1): { executionId: string; attempt: number; shard: number } {
  return { executionId, attempt, shard: 7 };
}

/** Results among these messages, as `execution:attempt`. */
export function resultsOf(messages: readonly WorkerMessage[]): string[] {
  return messages.flatMap((message) =>
    message.finished.map((item) => `${item.token?.executionId}:${item.token?.attempt}`),
  );
}
