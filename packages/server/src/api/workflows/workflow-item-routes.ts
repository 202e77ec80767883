import { ExecutionState, pageQuery, type WorkflowItem, WorkflowItemPage } from "@mainspring/contract";
import { MAP_ITEMS_MAX, PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX, SUB_WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import { Type } from "typebox";
import { isFinal } from "../../domain/execution.ts";
import { itemIds, runsOfItems } from "../../domain/workflow/kept-nodes.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Ends, NodeSummary, StoreRuns } from "../../ports/store-runs.ts";
import { workerShownTo } from "../../security/tenant.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import type { LiveView, Overlaid } from "../executions/live.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstant, formatInstantOrNull } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";
import type { RunReader } from "./run-picture.ts";
import { NodeParams } from "./workflow-node-routes.ts";
import { WorkflowParams } from "./workflow-routes.ts";

export interface ItemRouteDependencies {
  runs: Pick<RunReader, "nodeNamed">;
  store: Pick<StoreRuns, "ends">;
  stores: Pick<TenantStores, "of">;
  live: Pick<LiveView, "overlay">;
}

/** Bytes of results after which an answer has no further line. */
const ANSWER_BYTES = 4 * 1024 * 1024;
const NDJSON = "application/x-ndjson";
const [LF, CR, SPACE] = [0x0a, 0x0d, 0x20];

const ListQuery = Type.Object({ state: Type.Optional(ExecutionState), ...pageQuery }, { additionalProperties: false });

const ResultsQuery = Type.Object(
  {
    node: Type.String({ description: "name of the map" }),
    from: Type.Optional(
      Type.Integer({ minimum: 0, maximum: MAP_ITEMS_MAX, description: "index of the first item; default 0" }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: PAGE_ITEMS_MAX, description: `items at most; default ${PAGE_ITEMS_MAX}` }),
    ),
  },
  { additionalProperties: false },
);

/** Routes GET /v1/workflows/{workflowId}/nodes/{name}/items and /results */
export function workflowItemRoutes(app: HttpApp, deps: ItemRouteDependencies): void {
  listRoute(app, deps);
  resultsRoute(app, deps);
}

function listRoute(app: HttpApp, { runs, stores, live }: ItemRouteDependencies): void {
  const schema = {
    operationId: "listWorkflowItems",
    tags: ["workflows"],
    summary: "List the items of a map that have an execution in this run",
    params: NodeParams,
    querystring: ListQuery,
    response: {
      200: answer(WorkflowItemPage, "A page, in the order of the items"),
      ...problems("not-found", "wrong-state"),
    },
  };
  app.get(
    "/v1/workflows/:workflowId/nodes/:name/items",
    { schema, config: { scope: "jobs:read" } },
    async (request) => {
      const { workflowId, name } = request.params;
      const { query } = request;
      const tenant = tenantOfCaller(request);
      const after = decodeCursor("items", query.cursor);
      const { node } = await knownMap(runs, tenant, workflowId, name);
      const filter = { node, ...(query.state !== undefined && { state: query.state }) };
      const limit = query.limit ?? PAGE_ITEMS_DEFAULT;
      const page = await stores.of(tenant).queries.listNodes(workflowId, filter, { after, limit });
      const items = (await live.overlay(page.items)).map(workflowItem);
      return { items, nextCursor: encodeCursor("items", page.next) };
    },
  );
}

function resultsRoute(app: HttpApp, { runs, store }: ItemRouteDependencies): void {
  const schema = {
    operationId: "readWorkflowResults",
    tags: ["workflows"],
    summary:
      "Read the results of a map's items in their order, also those that a retry keeps from earlier runs. An answer ends at the limit or after 4 MiB; the next one begins with the item after its last line, and one without a line says that there are no more items",
    params: WorkflowParams,
    querystring: ResultsQuery,
    response: {
      200: {
        description:
          'One line of JSON for each item: {"item": 0, "executionId": …, "state": …, "result": …}. `state` is null until the item has ended, `executionId` until it has an execution, and `result` is null unless the item SUCCEEDED',
        content: { [NDJSON]: { schema: Type.Unsafe<Buffer>({ type: "string" }) } },
      },
      ...problems("not-found", "wrong-state"),
    },
  };
  app.get("/v1/workflows/:workflowId/results", { schema, config: { scope: "jobs:read" } }, async (request, reply) => {
    const { params, query } = request;
    const { run, node } = await knownMap(runs, tenantOfCaller(request), params.workflowId, query.node);
    const size = run.mapCounts.find((count) => count.node === node)?.items;
    const first = query.from ?? 0;
    const until = Math.min(typeof size === "number" ? size : 0, first + (query.limit ?? PAGE_ITEMS_MAX));
    void reply.type(NDJSON);
    if (first >= until) return reply.send(Buffer.alloc(0));
    const ids = itemIds(run.executionId, node, runsOfItems(run.kept, node), { first, until });
    const { byId, looked } = await store.ends(ids, ANSWER_BYTES);
    return reply.send(
      Buffer.concat(ids.slice(0, looked).flatMap((id, place) => line(first + place, id, byId.get(id)))),
    );
  });
}

/** @throws {ProblemError} 404: there is no such run or node; 409: the node is no map */
async function knownMap(runs: ItemRouteDependencies["runs"], tenant: Tenant, workflowId: string, name: string) {
  const found = await runs.nodeNamed(tenant, workflowId, name);
  if (found === null)
    throw new ProblemError(problem("not-found", "there is no such workflow, or it has no node of this name"));
  if (!found.isMap) throw new ProblemError(problem("wrong-state", "the node is no map: it has no items"));
  return found;
}

type End = Ends["byId"] extends ReadonlyMap<string, infer T> ? T : never;

/** Parts of the line of an item. @param end left out: the item has no execution */
function line(item: number, id: string, end?: End): Buffer[] {
  const executionId = end === undefined ? null : id;
  const state = end !== undefined && isFinal(end.state) ? end.state : null;
  const head = JSON.stringify({ item, executionId, state }).slice(0, -1);
  const result = state === "SUCCEEDED" && end?.result ? onOneLine(Buffer.from(end.result)) : Buffer.from("null");
  return [Buffer.from(`${head},"result":`), result, Buffer.from("}\n")];
}

/** JSON with spaces in place of line breaks, which it has nowhere but between its parts. */
function onOneLine(json: Buffer): Buffer {
  return json.includes(LF) || json.includes(CR)
    ? (json.map((byte) => (byte === LF || byte === CR ? SPACE : byte)) as Buffer)
    : json;
}

function workflowItem(row: Overlaid<NodeSummary>): WorkflowItem {
  const { ofRun, executionId, state, reason, attempt, error, workerId } = row;
  return {
    ...{
      item: ofRun.item ?? 0,
      executionId,
      state,
      reason,
      attempt,
      error,
      assignedWorker: workerId && workerShownTo(row.tenant, workerId, row.pool),
    },
    createdAt: formatInstant(row.createdAt),
    startedAt: formatInstantOrNull(row.startedAt),
    finishedAt: formatInstantOrNull(row.finishedAt),
    childWorkflowId: row.handler === SUB_WORKFLOW_HANDLER ? executionId : null,
  };
}
