import assert from "node:assert/strict";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, type Execution } from "@mainspring/sdk";
import { until } from "@mainspring/server/testing";

/** A node of a cluster that was deployed in any way. */
export interface DeployedNode {
  name: string;
  /** Address of its HTTP API. */
  url: string;
  /** Stops the node as its platform does. @throws it did not end by itself within the time that the platform gives */
  stop(): Promise<void>;
  /** Kills the node as a power cut would. */
  kill(): Promise<void>;
  /** Brings the node back after a stop or a kill, unless the platform does so by itself. */
  start(): Promise<void>;
}

interface Task {
  apiKey: string;
  /** Number of jobs to be accepted before and after each event, at least. */
  jobs: number;
  /** Pool of the worker that was deployed beside the nodes. */
  pool: string;
}

/** Numbers that the judge has counted. */
export interface Outcome {
  accepted: number;
  /** Jobs with more than one attempt: before the kill, where only a machine that stands still loses a worker, and in all. */
  ranAgain: { beforeKill: number; all: number };
  stopMs: number;
  /** Longest wait for the acceptance of a job, over all tries: while a node stopped, and after the kill. */
  longestMs: { stop: number; kill: number };
}

/** Time between two submits, duration of a job, and time limit of a try of a submit and of each wait, in milliseconds. */
const PACE_MS = 40;
const JOB_MS = 200;
const TRY_MS = 10_000;
const WAIT_MS = 300_000;
/** Submits that wait for their acceptance at once. A machine that is slower gets a smaller load. */
const OPEN_MAX = 8;
/** Executions that are read at once. */
const AT_ONCE = 16;

/**
 * Judges three nodes and a worker, however they run: all three live and reach each other, a job that any of them accepts succeeds once, and under a
 * steady load, whose client tries the next node if one does not answer, a node is stopped and started again and another one is killed.
 * @throws {Error} an accepted job did not succeed exactly once, or a node did not stop or come back
 */
export async function judge(nodes: readonly DeployedNode[], { apiKey, jobs, pool }: Task): Promise<Outcome> {
  const clients = nodes.map(({ url }) => new Client({ url, apiKey, retries: 0, timeoutMs: TRY_MS }));
  const readers = nodes.map(({ url }) => new Client({ url, apiKey }));
  await haveAll(clients);
  const [, second, third] = nodes as [DeployedNode, DeployedNode, DeployedNode];
  const load = new Load(clients, readers, pool);
  try {
    for (const [index, reader] of readers.entries()) await ended(reader, await load.submitAt(index));
    load.begin();
    await load.accepts(jobs);
    const stopMs = await timed(() => second.stop());
    await load.accepts(jobs);
    await second.start();
    await haveAll(clients);
    const longestAtStop = load.longestMs;
    const before = await load.settled();
    load.begin();
    await load.accepts(jobs);
    await third.kill();
    await load.accepts(jobs);
    await third.start();
    await haveAll(clients);
    const all = await load.settled();
    return {
      accepted: all.length,
      ranAgain: { beforeKill: repeatedOf(before), all: repeatedOf(all) },
      stopMs,
      longestMs: { stop: longestAtStop, kill: load.longestMs },
    };
  } finally {
    await load.end();
  }
}

/** The outcome as a sentence. */
export function outcomeText({ accepted, ranAgain, stopMs, longestMs }: Outcome): string {
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  const again = `${ranAgain.beforeKill} had another attempt before the kill and ${ranAgain.all - ranAgain.beforeKill} after it`;
  return `${accepted} jobs accepted, all succeeded; ${again}; the stop took ${seconds(stopMs)}; a submit waited at most ${seconds(longestMs.stop)} around the stop and ${seconds(longestMs.kill)} around the kill`;
}

/** Number of executions with more than one attempt. */
function repeatedOf(executions: readonly Execution[]): number {
  return executions.filter(({ attempts }) => attempts.length > 1).length;
}

/** Waits until each node sees three living nodes, and reaches them. */
async function haveAll(clients: readonly Client[]): Promise<void> {
  for (const client of clients) {
    await patiently(`${client.url} sees three nodes`, async () => {
      const { nodes } = await client.cluster.status();
      return nodes.filter(({ state, isReachable }) => state === "LIVING" && isReachable).length === clients.length;
    });
  }
}

/** Waits until a condition holds. A question that fails counts as no. */
async function patiently(about: string, isTrue: () => Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + WAIT_MS;
  let last: unknown = null;
  await until(async () => {
    const isSo = await isTrue().catch((error: unknown) => {
      last = error;
      return false;
    });
    if (isSo) return true;
    if (performance.now() > untilMs) throw new Error(`waited ${WAIT_MS} ms in vain until ${about}`, { cause: last });
    return false;
  });
}

async function timed(action: () => Promise<void>): Promise<number> {
  const fromMs = performance.now();
  await action();
  return performance.now() - fromMs;
}

/** Waits for the end of an execution. @throws it did not succeed */
async function ended(client: Client, executionId: string): Promise<Execution> {
  const execution = await client.waitForExecution(executionId, { signal: AbortSignal.timeout(WAIT_MS) });
  assert.equal(execution.state, "SUCCEEDED", `execution ${executionId} is ${execution.state}`);
  const succeeded = execution.attempts.filter(({ state }) => state === "SUCCEEDED");
  assert.equal(succeeded.length, 1, `execution ${executionId} succeeded more than once`);
  return execution;
}

/** A client that submits a job at each beat to one node after the other, and to the next one if that does not accept it. */
class Load {
  readonly #clients: readonly Client[];
  /** Clients of the same nodes that try again by themselves. */
  readonly #readers: readonly Client[];
  readonly #pool: string;
  readonly #accepted: string[] = [];
  readonly #open = new Set<Promise<void>>();
  #failure: unknown = null;
  #timer: NodeJS.Timeout | null = null;
  #count = 0;
  #longestMs = 0;

  constructor(clients: readonly Client[], readers: readonly Client[], pool: string) {
    this.#clients = clients;
    this.#readers = readers;
    this.#pool = pool;
  }

  /** Longest time from a submit to its acceptance since the load began. */
  get longestMs(): number {
    return this.#longestMs;
  }

  begin(): void {
    this.#longestMs = 0;
    this.#timer = setInterval(() => {
      if (this.#open.size >= OPEN_MAX) return;
      const submit = this.#submit().catch((error: unknown) => {
        this.#failure ??= error;
      });
      this.#open.add(submit);
      void submit.then(() => this.#open.delete(submit));
    }, PACE_MS);
  }

  /** Submits a job to a node alone. @returns id of its execution */
  async submitAt(node: number): Promise<string> {
    const { executionId } = await (this.#readers[node] as Client).submit(this.#job(this.#count++));
    this.#accepted.push(executionId);
    return executionId;
  }

  /** Waits until this many more jobs are accepted. */
  async accepts(jobs: number): Promise<void> {
    const wanted = this.#accepted.length + jobs;
    await patiently(
      `${wanted} jobs are accepted`,
      async () => this.#failure !== null || this.#accepted.length >= wanted,
    );
    if (this.#failure !== null) throw this.#failure;
  }

  /** Ends the submits, and waits for the end of all accepted jobs. @throws one did not succeed */
  async settled(): Promise<Execution[]> {
    await this.end();
    if (this.#failure !== null) throw this.#failure;
    assert.equal(new Set(this.#accepted).size, this.#accepted.length, "a repeat of a submit got another job");
    const executions: Execution[] = [];
    for (let from = 0; from < this.#accepted.length; from += AT_ONCE) {
      const some = this.#accepted.slice(from, from + AT_ONCE);
      const reader = this.#readers[from % this.#readers.length] as Client;
      executions.push(...(await Promise.all(some.map((id) => ended(reader, id)))));
    }
    return executions;
  }

  async end(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await Promise.all(this.#open);
  }

  #job(number: number) {
    return { target: { handler: "sleep", pool: this.#pool }, payload: { ms: JOB_MS }, labels: { judged: `${number}` } };
  }

  /** Tries one node after the other with the same idempotency key. */
  async #submit(): Promise<void> {
    const number = this.#count++;
    const key = `judge-${process.pid}-${number}`;
    const fromMs = performance.now();
    for (let node = number; ; node++) {
      const client = this.#clients[node % this.#clients.length] as Client;
      try {
        const { executionId } = await client.submit(this.#job(number), { idempotencyKey: key });
        this.#accepted.push(executionId);
        this.#longestMs = Math.max(this.#longestMs, performance.now() - fromMs);
        return;
      } catch (error) {
        if (performance.now() - fromMs > WAIT_MS) throw error;
        await sleep(PACE_MS);
      }
    }
  }
}
