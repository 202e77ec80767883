import {
  DeadLetterBody,
  DeadLetterRunBody,
  type LetterFilter,
  letterFilter,
  pageOf,
  pageQuery,
  Selection,
  SettledBody,
  Uuid,
} from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import { Type } from "typebox";
import type {
  DeadLetterAction,
  DeadLetterFilter,
  DeadLetterRun,
  SettledLetter,
} from "../../ports/store-dead-letters.ts";
import type { TenantStore, TenantStores } from "../../security/tenant-stores.ts";
import { noteOf } from "../audit/audit-notes.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import { invalid, ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstant, formatInstantOrNull, parseInstant } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";
import { executionSummaryBody } from "../views.ts";
import type { DeadLetterRuns } from "./dead-letter-runs.ts";

const tags = ["dead letters"];

/** Routes GET /v1/dead-letters, POST /v1/dead-letters/replay and /discard, GET /v1/dead-letters/runs/{runId} */
export function deadLetterRoutes(app: HttpApp, stores: Pick<TenantStores, "of">, runs: DeadLetterRuns): void {
  listRoute(app, stores);
  settleRoute(app, stores, runs, "REPLAY");
  settleRoute(app, stores, runs, "DISCARD");
  runRoute(app, stores);
}

function listRoute(app: HttpApp, stores: Pick<TenantStores, "of">): void {
  const schema = {
    operationId: "listDeadLetters",
    tags,
    summary: "List executions that used up their budget and were neither replayed nor discarded",
    querystring: Type.Object({ ...letterFilter, ...pageQuery }, { additionalProperties: false }),
    response: { 200: answer(pageOf("DeadLetterPage", DeadLetterBody), "A page, newest first"), ...problems() },
  };
  app.get("/v1/dead-letters", { schema, config: { scope: "jobs:read", isShared: true } }, async (request) => {
    const { cursor, limit = PAGE_ITEMS_DEFAULT, ...filter } = request.query;
    const page = { after: decodeCursor("dead-letters", cursor), limit };
    const own = stores.of(tenantOfCaller(request));
    const { items, next } = await own.deadLetters.list(filterOf(own, filter), page);
    const bodies = items.map((letter) => ({ ...executionSummaryBody(letter), error: letter.error }));
    return { items: bodies, nextCursor: encodeCursor("dead-letters", next) };
  });
}

const WORDS = {
  REPLAY: { path: "replay", id: "replayDeadLetters", does: "Run dead letters again, each by a new execution" },
  DISCARD: { path: "discard", id: "discardDeadLetters", does: "Take dead letters off the list; they stay DEAD" },
} as const;

function settleRoute(
  app: HttpApp,
  stores: Pick<TenantStores, "of">,
  runs: DeadLetterRuns,
  action: DeadLetterAction,
): void {
  const { path, id, does } = WORDS[action];
  const schema = {
    operationId: id,
    tags,
    summary: does,
    body: Selection,
    response: {
      200: answer(SettledBody, "For executionIds: the outcome of each"),
      202: answer(
        DeadLetterRunBody,
        "For a filter: a run, which the server continues in the background; `Location` is the address of its progress",
      ),
      ...problems("unsupported-media-type", "payload-too-large"),
    },
  };
  app.post(`/v1/dead-letters/${path}`, { schema, config: { scope: "runs:control" } }, async (request, reply) => {
    const { executionIds, filter } = request.body;
    const tenant = tenantOfCaller(request);
    if ((executionIds === undefined) === (filter === undefined)) throw notOne();
    if (filter === undefined) {
      const ids = (executionIds ?? []).map((executionId) => executionId.toLowerCase());
      const note = noteOf(request, ids.length === 1 ? (ids[0] ?? null) : null, {
        count: ids.length,
        first: ids[0] ?? null,
      });
      return { items: (await runs.settle(tenant, action, ids, note)).map((letter) => settledItem(action, letter)) };
    }
    const note = noteOf(request, null, { filter: Object.keys(filter) });
    const run = await runs.begin(tenant, action, filterOf(stores.of(tenant), filter), note);
    return reply.code(202).header("location", `/v1/dead-letters/runs/${run.runId}`).send(runBody(run));
  });
}

function notOne(): ProblemError {
  return new ProblemError(invalid([{ field: "", message: "must have either executionIds or filter" }]));
}

function settledItem(action: DeadLetterAction, letter: SettledLetter): SettledBody["items"][number] {
  const { executionId, outcome, newId } = letter;
  const done = action === "REPLAY" ? "REPLAYED" : "DISCARDED";
  return { executionId, outcome: outcome === "SETTLED" ? done : outcome, newExecutionId: newId };
}

function runRoute(app: HttpApp, stores: Pick<TenantStores, "of">): void {
  const schema = {
    operationId: "getDeadLetterRun",
    tags,
    summary: "How far a replay or discard by filter is; kept for 7 days after its end",
    params: Type.Object({ runId: Uuid("the run") }),
    response: { 200: answer(DeadLetterRunBody, "As it is now"), ...problems("not-found") },
  };
  app.get("/v1/dead-letters/runs/:runId", { schema, config: { scope: "jobs:read" } }, async (request) => {
    const run = await stores.of(tenantOfCaller(request)).deadLetters.readRun(request.params.runId.toLowerCase());
    if (run !== null) return runBody(run);
    throw new ProblemError(problem("not-found", "there is no such run, or it was over more than 7 days ago"));
  });
}

function filterOf(own: TenantStore, { pool, handler, jobId, since, until }: LetterFilter): DeadLetterFilter {
  return {
    ...own.inPool(pool),
    ...(handler !== undefined && { handler }),
    ...(jobId !== undefined && { jobId: jobId.toLowerCase() }),
    ...(since !== undefined && { since: Number(parseInstant(since)) }),
    ...(until !== undefined && { until: Number(parseInstant(until)) }),
  };
}

function runBody({ runId, action, filter, settled, skipped, createdAt, finishedAt }: DeadLetterRun): DeadLetterRunBody {
  const { since, until, ...rest } = filter;
  return {
    ...{ runId, action, settled, skipped },
    filter: {
      ...rest,
      ...(since !== undefined && { since: formatInstant(since) }),
      ...(until !== undefined && { until: formatInstant(until) }),
    },
    state: finishedAt === null ? "RUNNING" : "FINISHED",
    createdAt: formatInstant(createdAt),
    finishedAt: formatInstantOrNull(finishedAt),
  };
}
