import { Feature, type WorkerMessage } from "@mainspring/proto";
import type { MainspringError } from "../src/errors.ts";
import { StallGuard, stallCells } from "../src/handlers/stall-guard.ts";
import { Session } from "../src/session/session.ts";
import type { FinishedReport, Orders, Report, StepReport } from "../src/session/work.ts";
import { ManualRuntime } from "./manual-runtime.ts";
import { ScriptedLink, type ServerInit } from "./scripted-link.ts";

const PROFILE = {
  workerId: "worker-1",
  name: "a worker",
  pool: "default",
  handlers: ["noop"],
  policies: [{ handler: "noop", policies: '{"timeoutSec":5}' }],
  capabilities: ["gpu"],
  slots: 4,
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
  /** Server that is too old to store steps, as the latest welcome has it. */
  tooOld: string | null = null;
  lagMs = 0;
  readonly session: Session;

  constructor(prefetch: number | "auto" = 10) {
    const guard = new StallGuard(stallCells(), this.runtime);
    this.session = new Session({ ...PROFILE, prefetch }, this.link, this.runtime, guard, {
      orders: (orders) => this.orders.push(orders),
      welcomed: (tooOld) => {
        this.welcomes++;
        this.tooOld = tooOld;
      },
      left: (error) => this.goodbyes.push(error),
      warn: (message) => this.warnings.push(message),
      loopLagMs: () => this.lagMs,
    });
  }

  /** Started and welcomed, with nothing left to be read. */
  static welcomed(): SessionScene {
    const scene = new SessionScene();
    scene.session.start();
    scene.welcome();
    scene.sent();
    return scene;
  }

  welcome(message: Omit<ServerInit, "$typeName"> = {}): void {
    this.say({ welcome: { heartbeatIntervalMs: 10_000, gateway: "gateway-1", features: Feature.STEPS }, ...message });
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

  record(...steps: StepReport[]): void {
    this.session.report({ ...SILENCE, steps });
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

/** A record of an attempt. */
export function step(executionId: string, number: number, over: Partial<StepReport> = {}): StepReport {
  return { executionId, attempt: 1, number, kind: "RESULT", name: `step-${number}`, data: `"${number}"`, ...over };
}

/** Records among these messages, as `execution:attempt/number`. */
export function stepsOf(messages: readonly WorkerMessage[]): string[] {
  return messages.flatMap((message) =>
    message.steps.map((item) => `${item.token?.executionId}:${item.token?.attempt}/${item.number}`),
  );
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
