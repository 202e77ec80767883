import { setTimeout as sleep } from "node:timers/promises";
import { AttemptAborted, type Task, type TaskContext, TerminalError, task } from "@mainspring/sdk";
import { monotonicMs } from "../clock.ts";
import { digestOf } from "../history/digest.ts";
import type { WorkerEvent } from "../history/events.ts";
import type { HistoryFile } from "../history/history-file.ts";
import { givenValue } from "../history/workflow-events.ts";
import { KINDS } from "./kinds.ts";
import { STEPPED } from "./stepped/stepped.ts";
import { Walk } from "./stepped/walk.ts";
import type { Made, Work } from "./work.ts";
import { isMended } from "./workflows/mended.ts";
import { NODE_HANDLER } from "./workflows/workflow-order.ts";

type History = HistoryFile<WorkerEvent>;

/** Records of a worker: its history, and the folder of the run. */
export interface Records {
  history: History;
  folder: string;
}

/** Handlers for each kind of job and for nodes of workflows, which do what the payload says and record that. */
export function tasks(records: Records): Task<Work, Made>[] {
  const names = [...[...KINDS, STEPPED].map(({ name }) => name), NODE_HANDLER];
  return names.map((name) => task<Work, Made>({ name, run: (work, ctx) => run(work, ctx, records) }));
}

async function run(work: Work, ctx: TaskContext, records: Records): Promise<Made> {
  const { history } = records;
  const { executionId, attempt } = ctx;
  const token = { pid: process.pid, executionId, attempt, ...(work.node && { node: work.node }) };
  const given = work.given && givenTo(work.given);
  history.write({ event: "STARTED", at: monotonicMs(), ...token, key: work.key, ...(given && { given }) });
  ctx.signal.addEventListener("abort", () => {
    const reason = ctx.signal.reason instanceof AttemptAborted ? ctx.signal.reason.reason : String(ctx.signal.reason);
    history.write({ event: "ABORTED", at: monotonicMs(), ...token, reason });
  });
  try {
    const made = await make(work, ctx, records);
    history.write({ event: "ENDED", at: monotonicMs(), ...token, resultSha: digestOf(made) });
    return made;
  } catch (error) {
    history.write({ event: "ENDED", at: monotonicMs(), ...token, resultSha: null });
    throw error;
  }
}

function givenTo(given: NonNullable<Work["given"]>): Record<string, string> {
  return Object.fromEntries(given.map(({ from, result, executionId }) => [from, givenValue(result, executionId)]));
}

async function make(work: Work, ctx: TaskContext, { history, folder }: Records): Promise<Made> {
  const { key, workMs, firstWorkMs = workMs, filler } = work;
  const failTimes = work.node && isMended(folder, work.node.run) ? 0 : (work.failTimes ?? 0);
  await sleep(ctx.failures === 0 ? firstWorkMs : workMs, undefined, work.obeys === true ? { signal: ctx.signal } : {});
  if (work.hopeless === true) throw new TerminalError("there is no hope for this one");
  if (ctx.failures < failTimes) throw new Error(`fails ${failTimes} times, this is the ${ctx.failures + 1}.`);
  const known = work.walk && (await new Walk(work.walk, ctx, history).run());
  if (work.node?.branch != null) ctx.branch(work.node.branch);
  const { executionId, attempt } = ctx;
  return {
    key,
    executionId,
    attempt,
    pid: process.pid,
    ...(filler !== undefined && { filler }),
    ...(known && { known }),
  };
}
