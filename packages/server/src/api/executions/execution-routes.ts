import {
  ExecutionBody,
  ExecutionState,
  ExecutionSummaryBody,
  IdPrefix,
  Instant,
  pageOf,
  pageQuery,
  Uuid,
  Word,
} from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import { type Static, Type } from "typebox";
import { DEFAULT_TENANT, type ExecutionId } from "../domain/ids.ts";
import type { Progress } from "../ports/messages.ts";
import type { StoreQueries } from "../ports/store-queries.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import { answer, problems } from "./documented.ts";
import { ProblemError, problem } from "./errors.ts";
import type { ExecutionReader } from "./execution-reader.ts";
import type { HttpApp } from "./http-app.ts";
import { idsWith } from "./id-range.ts";
import { parseInstant } from "./instants.ts";
import { executionBody, executionSummaryBody } from "./views.ts";

const closed = { additionalProperties: false } as const;
const listFields = {
  state: Type.Optional(ExecutionState),
  pool: Type.Optional(Word("a pool's name")),
  handler: Type.Optional(Word("a handler's name")),
  since: Type.Optional(Instant("created at or after")),
  until: Type.Optional(Instant("created before")),
  idPrefix: IdPrefix,
  ...pageQuery,
};
const ListQuery = Type.Object(listFields, closed);
const WaitQuery = Type.Object(
  { waitSec: Type.Optional(Type.Number({ minimum: 0, maximum: 60, description: "answers early when final" })) },
  closed,
);
const ofExecutions = answer(pageOf("ExecutionPage", ExecutionSummaryBody), "A page, newest first");

type AskProgress = (executionId: ExecutionId, attempt: number) => Promise<Progress | null>;

/** GET /v1/executions, /v1/executions/{executionId} and /v1/jobs/{jobId}/executions */
export function executionRoutes(
  app: HttpApp,
  reader: ExecutionReader,
  queries: StoreQueries,
  progressOf: AskProgress,
): void {
  const list = async (query: Static<typeof ListQuery>, jobId?: string) => {
    const { items, next } = await reader.list(filterOf(query, jobId), {
      after: decodeCursor("executions", query.cursor),
      limit: query.limit ?? PAGE_ITEMS_DEFAULT,
    });
    return { items: items.map(executionSummaryBody), nextCursor: encodeCursor("executions", next) };
  };
  const tags = ["executions"];

  app.get(
    "/v1/executions",
    {
      schema: {
        operationId: "listExecutions",
        tags,
        summary: "List executions",
        querystring: ListQuery,
        response: { 200: ofExecutions, ...problems() },
      },
    },
    (request) => list(request.query),
  );

  app.get(
    "/v1/jobs/:jobId/executions",
    {
      schema: {
        operationId: "listJobExecutions",
        tags,
        summary: "List a job's executions",
        params: Type.Object({ jobId: Uuid("the job") }),
        querystring: ListQuery,
        response: { 200: ofExecutions, ...problems("not-found") },
      },
    },
    async (request) => {
      const jobId = request.params.jobId.toLowerCase();
      const page = await list(request.query, jobId);
      // An empty page may mean that its executions are gone, or that there is no such job.
      if (page.items.length === 0 && (await queries.getJob(DEFAULT_TENANT, jobId)) === null) throw noSuch("job");
      return page;
    },
  );

  readRoute(app, reader, progressOf);
}

function readRoute(app: HttpApp, reader: ExecutionReader, progressOf: AskProgress): void {
  app.get(
    "/v1/executions/:executionId",
    {
      schema: {
        operationId: "getExecution",
        tags: ["executions"],
        summary: "Read an execution; with waitSec, wait for it to be final",
        params: Type.Object({ executionId: Uuid("the execution") }),
        querystring: WaitQuery,
        response: { 200: answer(ExecutionBody, "The execution as it is now"), ...problems("not-found") },
      },
    },
    async (request, reply) => {
      const { waitSec = 0 } = request.query;
      const gone = new AbortController();
      if (waitSec > 0) reply.raw.once("close", () => gone.abort());
      const id = request.params.executionId.toLowerCase();
      const view = await (waitSec > 0 ? reader.readFinal(id, waitSec * 1_000, gone.signal) : reader.read(id));
      if (view === null) throw noSuch("execution");
      return executionBody(view, view.state === "RUNNING" ? await progressOf(id, view.attempt) : null);
    },
  );
}

export function noSuch(what: "job" | "execution"): ProblemError {
  return new ProblemError(problem("not-found", `there is no such ${what}, or it is so old that it was dropped`));
}

function filterOf(query: Static<typeof ListQuery>, jobId: string | undefined) {
  const { state, pool, handler, since, until, idPrefix } = query;
  return {
    ...(state !== undefined && { state }),
    ...(pool !== undefined && { pool }),
    ...(handler !== undefined && { handler }),
    ...(since !== undefined && { since: Number(parseInstant(since)) }),
    ...(until !== undefined && { until: Number(parseInstant(until)) }),
    ...(jobId !== undefined && { jobId }),
    ...(idPrefix !== undefined && { ids: idsWith(idPrefix) }),
  };
}
