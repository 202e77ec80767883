import type { Client, Execution, ExecutionSummary, JobRequest } from "@mainspring/sdk";
import type { Board } from "./board.ts";
import type { Shop } from "./shop.ts";

/** Services that a story may use. */
export interface Stage {
  client: Client;
  board: Board;
  shop: Shop;
  shopUrl: string;
  /** Starts the worker process. @returns its process id */
  workerPid: Promise<number>;
  /** Reports that a story's jobs are submitted. The worker starts when all stories that need that have reported. */
  ready(story: string): void;
  signal: AbortSignal;
}

/** A part of the load, and its expected result. */
export interface Story {
  name: string;
  play(stage: Stage): Promise<Account>;
}

/** Outcome of a story. */
export interface Account {
  executions: readonly ExecutionSummary[];
  expectations: Expectation[];
}

export interface Expectation {
  text: string;
  met: boolean;
}

export function expect(text: string, met: boolean): Expectation {
  return { text, met };
}

/** Submits jobs. @throws the server does not accept all of them */
export async function submitAll({ client, board }: Stage, story: string, jobs: JobRequest[]): Promise<string[]> {
  const items = await client.submitBatch(jobs);
  const ids = items.map((item) => {
    if ("error" in item) throw new Error(`${story}: ${item.error.detail ?? item.error.title}`);
    return item.executionId;
  });
  board.add(story, ids);
  return ids;
}

/** Reads executions with all their details, a few at a time. */
export async function readAll({ client }: Stage, ids: readonly string[]): Promise<Execution[]> {
  const all: Execution[] = [];
  for (let at = 0; at < ids.length; at += 20)
    all.push(...(await Promise.all(ids.slice(at, at + 20).map((id) => client.getExecution(id)))));
  return all;
}

export function allAre(executions: readonly ExecutionSummary[], state: ExecutionSummary["state"]): boolean {
  return executions.every((execution) => execution.state === state);
}

/** Creates one item for each number from 0 on. */
export function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}
