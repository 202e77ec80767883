import type { ExecutionRow, ExecutionState, StoreData } from "@mainspring/server/parts";
import { durationText } from "./duration.ts";

/** Capabilities of the workers of a simulation. */
export interface Able {
  pools: readonly string[];
  handlers: readonly string[];
  capabilities: readonly string[];
  slots: number;
}

export interface Teller {
  data: StoreData;
  able: Able;
  runs(executionId: string): boolean;
}

/**
 * Events of an execution so far and, if it is not final, the reason why it waits: a text of several lines, for people.
 */
export function storyOf(row: ExecutionRow, teller: Teller): string {
  const { definition } = row.job;
  const budget = `${row.failures} of ${definition.policy.retry.maxAttempts} failures`;
  const head = `${definition.handler} (execution ${row.id}) is ${stateOf(row, teller.runs(row.id))}, ${budget}`;
  const attempts = row.attempts.map(({ attempt, state, finishedAt, error }) => {
    const why = error === null ? "" : `: ${error.name}: ${error.message}`;
    return `  attempt ${attempt} ended ${state} at ${timeText(finishedAt)}${why}`;
  });
  const reason = row.reason === null ? [] : [`  reason: ${row.reason}`];
  return [head, ...attempts, ...reason, ...waitOf(row, teller).map((line) => `  ${line}`)].join("\n");
}

/** @param isRunning whether the execution's handler runs; the row shows that only once the attempt is a second old */
export function stateOf({ state }: ExecutionRow, isRunning: boolean): ExecutionState {
  return state === "PENDING" && isRunning ? "RUNNING" : state;
}

/** Reasons why the execution is not final yet. */
export function waitOf(row: ExecutionRow, teller: Teller): string[] {
  const { data, able, runs } = teller;
  const now = data.now();
  if (runs(row.id))
    return [`its handler has not ended; its time is ${durationText(row.job.definition.policy.timeoutMs)}`];
  if (row.state !== "PENDING") return [];
  if (row.dueAt > now && row.reason === "AWAITS_SIGNAL") return [`its handler waits for ${signalsOf(row, data)}`];
  if (row.dueAt > now) return [`it is due in ${durationText(row.dueAt - now)}, at ${timeText(row.dueAt)}`];
  return [unable(row, able) ?? limited(row, teller) ?? `a worker takes it when one of its ${able.slots} slots is free`];
}

function signalsOf({ id, dueAt }: ExecutionRow, data: StoreData): string {
  const waits = data.steps.of(id).filter(({ kind }) => kind === "WAIT");
  const names = waits.flatMap(({ data: wait }) => JSON.parse(Buffer.from(wait ?? []).toString()).signals as string[]);
  return `a signal (${list([...new Set(names)])}) until ${timeText(dueAt)}: a test sends one with signal(job, name)`;
}

function unable(row: ExecutionRow, { pools, handlers, capabilities }: Able): string | null {
  const { pool, handler, requires } = row.job.definition;
  if (!pools.includes(pool))
    return `no worker serves the pool "${pool}": simulate({ pools: [${list([...pools, pool])}] })`;
  if (!handlers.includes(handler)) {
    return `no worker has the handler "${handler}": simulate({ tasks }) was given ${list(handlers) || "none"}`;
  }
  const missing = requires.filter((label) => !capabilities.includes(label));
  if (missing.length === 0) return null;
  return `no worker has ${list(missing)}, which it requires: simulate({ capabilities: [${list(missing)}] })`;
}

function limited({ id, job }: ExecutionRow, { data, runs }: Teller): string | null {
  const { concurrencyKey, concurrencyLimit } = job.definition;
  if (concurrencyKey === null) return null;
  const others = [...data.executions.all()].filter(
    (other) => other.id !== id && other.job.definition.concurrencyKey === concurrencyKey && runs(other.id),
  );
  if (others.length < concurrencyLimit) return null;
  const who = others.map((other) => other.id).join(", ");
  return `its concurrency key "${concurrencyKey}" is at its limit of ${concurrencyLimit}: ${who} runs`;
}

function list(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(", ");
}

function timeText(atMs: number): string {
  return new Date(atMs).toISOString();
}
