import type { MessageInitShape } from "@bufbuild/protobuf";
import { type AssignSchema, Feature, Outcome, RetryAdvice, StepKind, type WorkerMessage } from "@mainspring/proto";
import type { TaskContext } from "../src/handlers/context.ts";
import { task } from "../src/task.ts";
import { createWorkerCore, type WorkerLife } from "../src/worker-core.ts";
import { ManualRuntime } from "./manual-runtime.ts";
import { ScriptedLink } from "./scripted-link.ts";
import { token } from "./session-scene.ts";
import { assign } from "./tiny-gateway.ts";

type Handler = (ctx: TaskContext) => unknown;

/** Record of an earlier attempt, or a signal; without a name: a checkpoint. */
export interface Earlier {
  name?: string;
  data?: string;
  /** Milliseconds until the wait is over, for which the earlier attempt suspended. */
  remainingMs?: number;
  signalId?: string;
}

/** A record as the gateway gets it. */
export interface Sent {
  number: number;
  name: string;
  data: string;
}

/** A worker with a real session and executor, whose gateway is the test. */
export class StepScene {
  readonly runtime = new ManualRuntime();
  readonly link = new ScriptedLink();
  readonly warnings: string[] = [];
  readonly worker: WorkerLife;
  /** Every message since the start, of all connections. */
  readonly messages: WorkerMessage[] = [];
  #handler: Handler = () => undefined;
  /** Number of messages that `steps()` has looked at. */
  #looked = 0;

  constructor(features: number = Feature.STEPS) {
    const identity = { workerId: "w", name: "w", pool: "default", capabilities: [], slots: 10, prefetch: 5 };
    const noop = task({ name: "noop", run: (_payload: unknown, ctx: TaskContext) => this.#handler(ctx) });
    const warn = (message: string) => void this.warnings.push(message);
    this.worker = createWorkerCore({ ...identity, tasks: [noop], runtime: this.runtime, warn }, this.link);
    void this.worker.start();
    this.welcome(features);
  }

  welcome(features: number = Feature.STEPS): void {
    this.link.connection.say({ welcome: { heartbeatIntervalMs: 60_000, gateway: "gateway-1", features } });
  }

  /** The connection breaks, and the worker opens another one. */
  async reconnect(features?: number): Promise<void> {
    this.link.connection.break();
    await this.runtime.advance(3_000);
    this.welcome(features);
    await this.runtime.turn();
  }

  /** Starts an attempt with that handler. */
  async run(handler: Handler, { attempt = 1, earlier = [] as readonly Earlier[] } = {}): Promise<void> {
    this.#handler = handler;
    const steps = earlier.map((item) => {
      const { name = "", data = "", remainingMs = 0, signalId = "" } = item;
      return { name, kind: kindOf(item), data: Buffer.from(data), remainingMs: BigInt(remainingMs), signalId };
    });
    const init: MessageInitShape<typeof AssignSchema> = assign("e", { token: token("e", attempt) });
    const recorded = steps.length === 0 ? [] : [{ token: token("e", attempt), steps }];
    this.link.connection.say({ recorded, assigns: [init] });
    await this.runtime.turn();
  }

  /** Acknowledges records of an attempt. */
  async acknowledge(numbers: readonly number[], attempt = 1): Promise<void> {
    this.link.connection.say({ stepAcks: numbers.map((number) => ({ token: token("e", attempt), number })) });
    await this.runtime.turn();
  }

  /** Records that have been sent since the last look. */
  steps(): Sent[] {
    this.#take();
    const fresh = this.messages.slice(this.#looked);
    this.#looked = this.messages.length;
    return fresh.flatMap(({ steps }) =>
      steps.map(({ number, name, data }) => ({ number, name, data: Buffer.from(data).toString() })),
    );
  }

  /** Acknowledges whatever comes, until nothing does. @returns all records */
  async store(attempt = 1): Promise<Sent[]> {
    const all: Sent[] = [];
    for (let steps = this.steps(); steps.length > 0; steps = this.steps()) {
      all.push(...steps);
      await this.acknowledge(
        steps.map(({ number }) => number),
        attempt,
      );
    }
    return all;
  }

  /** Waits of the attempt that has suspended, as `name delay signals`, with `!` if they are recorded. */
  async waits(): Promise<string[] | undefined> {
    await this.runtime.turn();
    this.#take();
    const finished = this.messages.flatMap((message) => message.finished).at(-1);
    return finished?.waits.map(({ name, delayMs, signals, recorded }) =>
      [name, delayMs, ...(signals.length > 0 ? [signals.join(",")] : [])].join(" ").concat(recorded ? "!" : ""),
    );
  }

  /** End of the attempt, as `outcome`, or as `outcome name: message` with `!` where it is not to be retried. */
  async ending(): Promise<string | undefined> {
    await this.runtime.turn();
    this.#take();
    const finished = this.messages.flatMap((message) => message.finished).at(-1);
    if (finished === undefined) return undefined;
    const { outcome, error, advice, result } = finished;
    const end = advice === RetryAdvice.NEVER ? "!" : "";
    return `${Outcome[outcome]}${error ? ` ${error.name}: ${error.message}` : ` ${Buffer.from(result)}`}${end}`;
  }

  #take(): void {
    this.messages.push(...this.link.connection.take());
  }
}

function kindOf({ name = "", remainingMs, signalId }: Earlier): StepKind {
  if (signalId !== undefined) return StepKind.SIGNAL;
  if (remainingMs !== undefined) return StepKind.WAIT;
  return name === "" ? StepKind.CHECKPOINT : StepKind.RESULT;
}

/** Runs a handler whose steps are stored, and returns the end of its attempt. */
export async function endOf(handler: (ctx: TaskContext) => unknown, earlier: readonly Earlier[] = []) {
  const scene = new StepScene();
  await scene.run(handler, { earlier });
  const sent = await scene.store();
  return { sent, end: await scene.ending() };
}
