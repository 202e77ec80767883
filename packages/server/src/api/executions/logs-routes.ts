import { AttemptLogsBody, Uuid } from "@mainspring/contract";
import { Type } from "typebox";
import type { ExecutionId } from "../../domain/ids.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import { filledLogUrl } from "../../ports/log-url.ts";
import type { ExecutionView } from "../../ports/store-queries.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstant } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";
import { ASK_TIMEOUT_MS, type LogReads, readLogs } from "./attempt-logs.ts";
import type { ExecutionReader } from "./execution-reader.ts";
import { noSuch } from "./execution-routes.ts";
import type { Overlaid } from "./live.ts";

const ATTEMPT_MAX = 2 ** 31 - 1;
const executionId = Uuid("the execution");
const attempt = Type.Integer({ minimum: 1, maximum: ATTEMPT_MAX, description: "the attempt, from 1" });
const response = {
  200: answer(AttemptLogsBody, "The last lines, with those that a running attempt has just logged"),
  ...problems("not-found"),
};

interface LogsDependencies extends LogReads {
  reader: ExecutionReader;
  /** Template of the address at which another system shows the lines; null: the store keeps them. */
  logUrl: string | null;
}

/** Routes GET /v1/executions/{executionId}/logs and /v1/executions/{executionId}/attempts/{attempt}/logs */
export function logsRoutes(app: HttpApp, deps: LogsDependencies): void {
  app.get(
    "/v1/executions/:executionId/logs",
    {
      config: { scope: "jobs:read" },
      schema: {
        operationId: "getLogs",
        tags: ["executions"],
        summary: "Read what the handler has logged in the newest attempt",
        params: Type.Object({ executionId }),
        response,
      },
    },
    (request) => logsOf(deps, tenantOfCaller(request), request.params.executionId.toLowerCase(), null),
  );
  app.get(
    "/v1/executions/:executionId/attempts/:attempt/logs",
    {
      config: { scope: "jobs:read" },
      schema: {
        operationId: "getAttemptLogs",
        tags: ["executions"],
        summary: "Read what the handler has logged in an attempt",
        params: Type.Object({ executionId, attempt }),
        response,
      },
    },
    (request) =>
      logsOf(deps, tenantOfCaller(request), request.params.executionId.toLowerCase(), request.params.attempt),
  );
}

/** @param asked number of the attempt; null: the newest one */
async function logsOf(
  deps: LogsDependencies,
  tenant: Tenant,
  id: ExecutionId,
  asked: number | null,
): Promise<AttemptLogsBody> {
  // The row of a running attempt may not have it yet, and then the answer would deny that there are lines.
  const view = await deps.reader.read(tenant, id, ASK_TIMEOUT_MS);
  if (view === null) throw noSuch("execution");
  const number = asked ?? view.attempt;
  if (number === 0 || number > view.attempt) throw noAttempt(number, view.attempt);
  const head = { executionId: id, attempt: number };
  if (deps.logUrl !== null) {
    return { ...head, url: urlOf(deps.logUrl, view, number, deps.runtime.now()), lines: [], droppedLines: 0 };
  }
  const { lines, droppedLines } = await readLogs(deps, tenant, id, number);
  return { ...head, url: null, lines: lines.map((line) => ({ ...line, at: formatInstant(line.at) })), droppedLines };
}

function noAttempt(asked: number, last: number): ProblemError {
  const none = "the execution has had no attempt yet";
  return new ProblemError(
    problem("not-found", last === 0 ? none : `the execution has no attempt ${asked}: its newest is ${last}`),
  );
}

/** An attempt that has not ended ends now; the start of one that never started is that of its execution. */
function urlOf(template: string, view: Overlaid<ExecutionView>, number: number, now: number): string {
  const ended = view.attempts.find(({ attempt }) => attempt === number);
  const current = number === view.attempt && ended === undefined ? (view.since ?? view.startedAt) : null;
  const startedAt = ended?.startedAt ?? current ?? view.createdAt;
  return filledLogUrl(template, {
    executionId: view.executionId,
    attempt: String(number),
    jobId: view.jobId,
    startedAt: formatInstant(startedAt),
    finishedAt: formatInstant(ended?.finishedAt ?? now),
  });
}
