import { type DefinedWorkflow, MainspringError, type Task } from "@mainspring/sdk";
import { createWorkerCore, type WorkerLife } from "@mainspring/sdk/worker-core";
import type { StoreEvent } from "@mainspring/server/parts";
import { linkTo, StoreData } from "@mainspring/server/parts";
import { Handlers } from "./handlers.ts";
import { startLocalServer } from "./local-server.ts";
import { Quiet } from "./quiet.ts";
import { realTime } from "./real-time.ts";
import { Simulation } from "./simulation.ts";
import { Timekeeper } from "./timekeeper.ts";

export interface SimulateOptions {
  /** Tasks that the workers run. Jobs for other handlers wait, and `enqueued` lists them. Default: none. */
  tasks?: readonly Task<never, unknown>[];
  /** Workflows whose tasks the workers run, beside `tasks`. A task of the same name in `tasks` replaces that of a workflow. */
  workflows?: readonly Pick<DefinedWorkflow, "tasks">[];
  /** Pools, each served by one worker, beside those that tasks name; default `["default"]` if a task names none. */
  pools?: readonly string[];
  /** Number of handlers that each worker runs at once; default 20. */
  slots?: number;
  /** Capabilities of the workers, such as `gpu`; default none. */
  capabilities?: readonly string[];
  /** Start of the clock: a Date, or ISO 8601 with a zone. Default: the present time. */
  startAt?: Date | string;
}

/**
 * Starts Mainspring within this process, without a server or a database, on a clock that stands still until the test
 * moves it. The simulation runs the production code, except for sockets and PostgreSQL. It starts in a few milliseconds
 * and leaves nothing behind but memory.
 * @throws {MainspringError} BAD_OPTION
 */
export async function simulate(options: SimulateOptions = {}): Promise<Simulation> {
  const { slots = 20, capabilities = [] } = options;
  const tasks = tasksOf(options);
  const pools = poolsOf(tasks, options.pools);
  const handlers: Handlers = new Handlers(() => time.now());
  const time: Timekeeper = new Timekeeper({
    startMs: startOf(options.startAt),
    settle: (isDone) => handlers.settle(isDone),
    skippable: (nowMs, untilMs) => quiet.skippable(nowMs, untilMs),
  });
  const data = new StoreData({ now: () => time.now() });
  data.observe((event) => tellOfEnds(event, handlers));
  const quiet: Quiet = new Quiet(data, handlers, () => time.nowMs);
  const server = await startLocalServer(time, data);
  const watched = tasks.map((task) => handlers.watched(task));
  const workers: WorkerLife[] = [];
  // A worker needs at least one task.
  for (const pool of pools.filter((name) => ofPool(watched, name).length > 0)) {
    const runtime = time.runtime(`worker of ${pool}`);
    const profile = { workerId: runtime.uuid(), name: `worker-${pool}`, pool, slots, prefetch: 0, capabilities };
    const worker = createWorkerCore(
      { stallMs: Number.POSITIVE_INFINITY, ...profile, tasks: ofPool(watched, pool), runtime, warn: () => undefined },
      linkTo(server.gateway),
    );
    await worker.start();
    workers.push(worker);
  }
  await server.keepPolicies();
  const able = { pools, capabilities, slots, handlers: tasks.map(({ name }) => name) };
  return new Simulation({ time, quiet, data, handlers, server, workers, able });
}

function tasksOf({ tasks = [], workflows = [] }: SimulateOptions): Task<never, unknown>[] {
  const given = new Set(tasks.map(({ name }) => name));
  const others = new Set(workflows.flatMap((workflow) => workflow.tasks).filter(({ name }) => !given.has(name)));
  return [...tasks, ...others];
}

function poolsOf(tasks: readonly Task<never, unknown>[], given: readonly string[] | undefined): string[] {
  const named = tasks.flatMap(({ pool = null }) => pool ?? []);
  const others = given ?? (named.length < tasks.length || tasks.length === 0 ? ["default"] : []);
  return [...new Set([...others, ...named])];
}

function ofPool(tasks: readonly Task<never, unknown>[], pool: string): Task<never, unknown>[] {
  return tasks.filter((task) => (task.pool ?? pool) === pool);
}

function tellOfEnds(event: StoreEvent, handlers: Handlers): void {
  if (event.kind !== "COMMITTED") return;
  for (const { after } of event.applied) {
    const ended = after.attempts.map(({ attempt }) => attempt);
    handlers.over(after.id, ended);
  }
}

function startOf(startAt: Date | string | undefined): number {
  if (startAt === undefined) return realTime.now();
  const zoned = typeof startAt !== "string" || /(Z|[+-]\d\d:?\d\d)$/i.test(startAt);
  const ms = zoned ? new Date(startAt).getTime() : Number.NaN;
  if (ms >= 0 && ms <= Date.UTC(9000, 0)) return ms;
  const right = "a Date or ISO 8601 with a zone, as 2026-03-01T09:00:00Z, from 1970 to 9000";
  throw new MainspringError("BAD_OPTION", `startAt: must be ${right}, not ${String(startAt)}`);
}
