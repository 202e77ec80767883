import { ExecutionState, pageQuery, type WorkflowItem, WorkflowItemPage } from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT, SUB_WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import { Type } from "typebox";
import { DEFAULT_TENANT } from "../../domain/ids.ts";
import type { StoreQueries } from "../../ports/store-queries.ts";
import type { NodeSummary } from "../../ports/store-runs.ts";
import type { LiveView, Overlaid } from "../executions/live.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstant, formatInstantOrNull } from "../http/instants.ts";
import type { RunReader } from "./run-picture.ts";
import { NodeParams } from "./workflow-node-routes.ts";

export interface ItemRouteDependencies {
  runs: Pick<RunReader, "nodeNamed">;
  queries: Pick<StoreQueries, "listNodes">;
  live: Pick<LiveView, "overlay">;
}

const ListQuery = Type.Object({ state: Type.Optional(ExecutionState), ...pageQuery }, { additionalProperties: false });

/** Route GET /v1/workflows/{workflowId}/nodes/{name}/items */
export function workflowItemRoutes(app: HttpApp, { runs, queries, live }: ItemRouteDependencies): void {
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
  app.get("/v1/workflows/:workflowId/nodes/:name/items", { schema }, async ({ params, query }) => {
    const { workflowId, name } = params;
    const after = decodeCursor("items", query.cursor);
    const found = await runs.nodeNamed(workflowId, name);
    if (found === null)
      throw new ProblemError(problem("not-found", "there is no such workflow, or it has no node of this name"));
    if (!found.isMap) throw new ProblemError(problem("wrong-state", "the node is no map: it has no items"));
    const filter = { node: found.node, ...(query.state !== undefined && { state: query.state }) };
    const limit = query.limit ?? PAGE_ITEMS_DEFAULT;
    const page = await queries.listNodes(DEFAULT_TENANT, workflowId, filter, { after, limit });
    const items = (await live.overlay(page.items)).map(workflowItem);
    return { items, nextCursor: encodeCursor("items", page.next) };
  });
}

function workflowItem(row: Overlaid<NodeSummary>): WorkflowItem {
  const { ofRun, executionId, state, reason, attempt, error, workerId } = row;
  return {
    ...{ item: ofRun.item ?? 0, executionId, state, reason, attempt, error, assignedWorker: workerId },
    createdAt: formatInstant(row.createdAt),
    startedAt: formatInstantOrNull(row.startedAt),
    finishedAt: formatInstantOrNull(row.finishedAt),
    childWorkflowId: row.handler === SUB_WORKFLOW_HANDLER ? executionId : null,
  };
}
