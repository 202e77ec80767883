import { ExecutionState, Instant, Line, pageQuery, Uuid, Workflow, WorkflowPage } from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import { type Static, Type } from "typebox";
import type { Tenant } from "../../ports/authenticator.ts";
import type { RunFilter, RunSummary } from "../../ports/store-runs.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import type { ExecutionReader } from "../executions/execution-reader.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { parseInstant } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";
import type { RunPicture, RunReader } from "./run-picture.ts";
import { workflowBody, workflowSummary } from "./workflow-views.ts";

const closed = { additionalProperties: false } as const;
const tags = ["workflows"];
export const WorkflowParams = Type.Object({ workflowId: Uuid("the run") });

const ListQuery = Type.Object(
  {
    state: Type.Optional(ExecutionState),
    name: Type.Optional(Line("the name of a workflow")),
    parent: Type.Optional(Uuid("a run: its sub-workflows, which are left out otherwise")),
    since: Type.Optional(Instant("created at or after")),
    until: Type.Optional(Instant("created before")),
    ...pageQuery,
  },
  closed,
);
const WaitQuery = Type.Object(
  { waitSec: Type.Optional(Type.Number({ minimum: 0, maximum: 60, description: "answers early when final" })) },
  closed,
);

/** Routes GET /v1/workflows and /v1/workflows/{workflowId} */
export function workflowRoutes(
  app: HttpApp,
  stores: Pick<TenantStores, "of">,
  runs: RunReader,
  reader: ExecutionReader,
): void {
  listRoute(app, stores, runs);
  const schema = {
    operationId: "getWorkflow",
    tags,
    summary: "Read a run of a workflow; with waitSec, wait for it to be final",
    params: WorkflowParams,
    querystring: WaitQuery,
    response: { 200: answer(Workflow, "The run as it is now"), ...problems("not-found") },
  };
  app.get("/v1/workflows/:workflowId", { schema, config: { scope: "jobs:read" } }, async (request, reply) => {
    const { waitSec = 0 } = request.query;
    const gone = new AbortController();
    if (waitSec > 0) reply.raw.once("close", () => gone.abort());
    const tenant = tenantOfCaller(request);
    const id = request.params.workflowId.toLowerCase();
    // The id may be that of another execution, for which nobody waits here.
    if (waitSec > 0 && (await runs.read(tenant, id)) !== null)
      await reader.readFinal(tenant, id, waitSec * 1_000, gone.signal);
    return workflowBody(await knownPicture(runs, tenant, id));
  });
}

function listRoute(app: HttpApp, stores: Pick<TenantStores, "of">, runs: RunReader): void {
  const schema = {
    operationId: "listWorkflows",
    tags,
    summary: "List runs of workflows",
    querystring: ListQuery,
    response: { 200: answer(WorkflowPage, "A page, newest first"), ...problems() },
  };
  app.get("/v1/workflows", { schema, config: { scope: "jobs:read", isShared: true } }, async (request) => {
    const { query } = request;
    const tenant = tenantOfCaller(request);
    const page = { after: decodeCursor("workflows", query.cursor), limit: query.limit ?? PAGE_ITEMS_DEFAULT };
    const { items, next } = await stores.of(tenant).queries.listRuns(filterOf(query), page);
    const names = new Map<number, string | null>();
    for (const { parent } of items)
      if (parent !== null && !names.has(parent.node))
        names.set(parent.node, await runs.nameOf(tenant, parent.run, parent.node));
    const nameOf = ({ parent }: RunSummary) => (parent === null ? null : (names.get(parent.node) ?? null));
    return {
      items: items.map((run) => workflowSummary(run, nameOf(run))),
      nextCursor: encodeCursor("workflows", next),
    };
  });
}

function filterOf({ state, name, parent, since, until }: Static<typeof ListQuery>): RunFilter {
  return {
    ...(state !== undefined && { state }),
    ...(name !== undefined && { name }),
    ...(parent !== undefined && { parent: parent.toLowerCase() }),
    ...(since !== undefined && { since: Number(parseInstant(since)) }),
    ...(until !== undefined && { until: Number(parseInstant(until)) }),
  };
}

/** Reads a run and its nodes. @throws {ProblemError} 404: there is no such run */
export async function knownPicture(
  runs: Pick<RunReader, "picture">,
  tenant: Tenant,
  workflowId: string,
): Promise<RunPicture> {
  const picture = await runs.picture(tenant, workflowId.toLowerCase());
  if (picture === null) throw noSuchWorkflow();
  return picture;
}

export function noSuchWorkflow(): ProblemError {
  return new ProblemError(problem("not-found", "there is no such workflow, or it is so old that it was dropped"));
}
