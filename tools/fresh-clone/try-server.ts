import { setTimeout as pause } from "node:timers/promises";
import type { Running } from "./person.ts";

const PATIENCE_MS = 60_000;

export interface Trial {
  /** Time from the start of `npm start` until /readyz answered yes, in milliseconds. */
  readyMs: number;
  /** Time from then until a first job had its result, in milliseconds. */
  jobMs: number;
}

/** Waits until the server is ready, runs a job, and stops the server as Ctrl-C does. */
export async function tryServer(server: Running): Promise<Trial> {
  const begunMs = performance.now();
  try {
    const url = await readyUrl(server, begunMs + PATIENCE_MS);
    const readyMs = performance.now() - begunMs;
    await runJob(url);
    return { readyMs, jobMs: performance.now() - begunMs - readyMs };
  } finally {
    await stop(server);
  }
}

async function readyUrl(server: Running, untilMs: number): Promise<string> {
  for (;;) {
    const url = /api\s+(http:\S+)/.exec(server.output())?.[1];
    if (url !== undefined && (await isReady(url))) return url;
    if (server.child.exitCode !== null) throw new Error(`the server has ended:\n${server.output()}`);
    if (performance.now() > untilMs) throw new Error(`the server is not ready:\n${server.output()}`);
    await pause(10);
  }
}

async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/readyz`).catch(() => null);
  return answer?.ok === true;
}

async function runJob(url: string): Promise<void> {
  const job = { target: { handler: "echo" }, payload: { hello: "world" } };
  const headers = { "content-type": "application/json" };
  const accepted = await fetch(`${url}/v1/jobs`, { method: "POST", headers, body: JSON.stringify(job) });
  const { executionId } = (await accepted.json()) as { executionId: string };
  const read = await fetch(`${url}/v1/executions/${executionId}?waitSec=30`);
  const execution = (await read.json()) as { state: string; result: unknown };
  if (execution.state !== "SUCCEEDED" || JSON.stringify(execution.result) !== JSON.stringify(job.payload)) {
    throw new Error(`the first job did not succeed: ${JSON.stringify(execution)}`);
  }
}

async function stop({ child, done, output }: Running): Promise<void> {
  if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGINT");
  const ended = await Promise.race([done.then(() => true), pause(PATIENCE_MS, false, { ref: false })]);
  if (ended) return;
  if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  throw new Error(`the server did not stop:\n${output()}`);
}
