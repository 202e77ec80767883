import type { ExecutionRow } from "@mainspring/server/testing";
import type { History, SimEvent } from "../../history.ts";
import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import { addedRows, isChildRun, isRun } from "./ledger.ts";

interface Follows {
  version: number;
  /**
   * Number of the first attempt that runs by this version: the number that the replacement took, or one that began in
   * the same commit.
   */
  attempt: number;
  at: number;
}

/**
 * An attempt runs by one version of its job's definition, the one in the store: never by a mixture, and never by an
 * older one after the replacement of waiting executions was acknowledged.
 */
export function definitionsAreWhole(): Checker {
  /** Text of each version, by job. */
  const texts = new Map<string, string[]>();
  /** Versions of each execution, in order. */
  const followed = new Map<string, { jobId: string; versions: Follows[] }>();
  /** Text of the nodes of each workflow, by job. */
  const nodeTexts = new Map<string, string>();
  const runAppears = (row: ExecutionRow) => {
    // The nodes of sub-workflows have the text of the outermost workflow.
    if (isChildRun(row)) texts.set(row.id, texts.get(row.job.jobId) ?? []);
    else if (isRun(row)) texts.set(row.id, [nodeTexts.get(row.job.jobId) ?? ""]);
  };
  const appears = (id: string, jobId: string, version: number, at: number) => {
    followed.set(id, { jobId, versions: [{ version, attempt: 0, at }] });
  };
  return {
    name: "definitions are whole",
    saw(event) {
      if (event.kind !== "SUBMITTED") for (const row of addedRows(event)) runAppears(row);
      if (event.kind === "SUBMITTED") {
        for (const job of event.submission.jobs) {
          const { jobId, payload } = job;
          if (!texts.has(jobId)) texts.set(jobId, [textOf(payload)]);
          // All nodes of a workflow have its text.
          if ("graph" in job) nodeTexts.set(jobId, textOf(job.payloads[0]?.payload ?? null));
        }
        for (const { id, job } of event.rows) appears(id, job.jobId, 1, event.at);
        for (const row of event.rows) runAppears(row);
      } else if (event.kind === "SETTLED") {
        for (const row of event.rows) appears(row.id, row.job.jobId, row.jobVersion, event.at);
      } else if (event.kind === "JOB_CHANGED") {
        const { job, payloads } = event.job;
        texts.set(job.jobId, payloads.map(textOf));
        if (event.row !== null) appears(event.row.id, job.jobId, event.row.jobVersion, event.at);
      } else if (event.kind === "RUN_RETRIED") {
        const { run, retryOf } = event.run;
        texts.set(run, texts.get(retryOf ?? "") ?? []);
        for (const { id, job, jobVersion } of event.rows) appears(id, job.jobId, jobVersion, event.at);
      } else if (event.kind === "COMMITTED") {
        for (const { id, job, jobVersion } of addedRows(event)) appears(id, job.jobId, jobVersion, event.at);
        for (const { before, after } of event.applied) {
          if (after.jobVersion < before.jobVersion) throw new Violation(`${after.id} went back to an older version`);
          if (after.jobVersion === before.jobVersion) continue;
          const { jobVersion: version, attempt } = after;
          followed.get(after.id)?.versions.push({ version, attempt, at: event.at });
        }
      }
    },
    atEnd(history) {
      for (const event of history.of("HANDLER_STARTED")) judgeStart(event, texts, followed.get(event.executionId));
      judgeAnswers(history, followed);
    },
  };
}

function judgeStart(
  { executionId, attempt, ran, asked }: Extract<SimEvent, { kind: "HANDLER_STARTED" }>,
  texts: ReadonlyMap<string, readonly string[]>,
  followed: { jobId: string; versions: readonly Follows[] } | undefined,
): void {
  const who = `attempt ${attempt} of ${executionId}`;
  if (ran.handler !== asked.handler || ran.maxAttempts !== asked.maxAttempts) {
    throw new Violation(`${who} is a mixture: ${JSON.stringify(ran)} got the payload of ${JSON.stringify(asked)}`);
  }
  const version = followed?.versions.findLast((follows) => follows.attempt <= attempt)?.version ?? 0;
  const text = texts.get(followed?.jobId ?? "")?.[version - 1];
  if (text !== asked.text) throw new Violation(`${who} ran by ${asked.text}, and version ${version} is ${text}`);
}

function judgeAnswers(history: History, followed: ReadonlyMap<string, { versions: readonly Follows[] }>): void {
  for (const { executionId, version, execution, atMs } of history.of("REPLACE_ANSWERED")) {
    if (execution !== "REPLACED" || executionId === null) continue;
    const versions = followed.get(executionId)?.versions ?? [];
    const isSo = versions.some((follows) => follows.version >= version && follows.at <= EPOCH_MS + atMs);
    if (!isSo) throw new Violation(`${executionId} was said to follow version ${version}, and did not`);
  }
}

function textOf(payload: Uint8Array | null): string {
  // The payload of a node that has references is no JSON.
  return payload === null ? "" : (/"text":"([^"]*)"/.exec(Buffer.from(payload).toString())?.[1] ?? "");
}
