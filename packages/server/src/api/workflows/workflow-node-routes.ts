import {
  NodeExplanation,
  pageQuery,
  Uuid,
  WorkflowNode,
  WorkflowNodePage,
  WorkflowNodeState,
} from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT, WORKFLOW_LIVE_MAX } from "@mainspring/contract/limits";
import { Type } from "typebox";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Explain } from "../executions/explain-route.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { tenantOfCaller } from "../http/security.ts";
import { type RunPicture, type RunReader, stateOfNode } from "./run-picture.ts";
import { knownPicture, WorkflowParams } from "./workflow-routes.ts";
import { because, blockedBy, compensationView, keptFrom, workflowNode } from "./workflow-views.ts";

const tags = ["workflows"];
export const NodeParams = Type.Object({
  workflowId: Uuid("the run"),
  name: Type.String({ description: "name of the node" }),
});
const ListQuery = Type.Object(
  { state: Type.Optional(WorkflowNodeState), ...pageQuery },
  { additionalProperties: false },
);

/** Routes GET /v1/workflows/{workflowId}/nodes, /nodes/{name} and /nodes/{name}/explain */
export function workflowNodeRoutes(app: HttpApp, runs: RunReader, explain: Explain): void {
  listRoute(app, runs);
  readRoute(app, runs);
  explainRoute(app, runs, explain);
}

function listRoute(app: HttpApp, runs: RunReader): void {
  const schema = {
    operationId: "listWorkflowNodes",
    tags,
    summary: "List the nodes of a run, also those without an execution",
    params: WorkflowParams,
    querystring: ListQuery,
    response: {
      200: answer(WorkflowNodePage, "A page, in the order of the definition"),
      ...problems("not-found"),
    },
  };
  app.get("/v1/workflows/:workflowId/nodes", { schema, config: { scope: "jobs:read" } }, async (request) => {
    const { params, query } = request;
    const after = decodeCursor("nodes", query.cursor);
    const picture = await knownPicture(runs, tenantOfCaller(request), params.workflowId);
    const limit = query.limit ?? PAGE_ITEMS_DEFAULT;
    const found: number[] = [];
    const count = picture.graph.nodeCount;
    for (let node = after === null ? 0 : Number(after) + 1; node < count && found.length <= limit; node++) {
      if (picture.graph.isVoid(node)) continue;
      if (query.state === undefined || stateOfNode(picture, node) === query.state) found.push(node);
    }
    const page = found.slice(0, limit);
    const next = found.length > limit ? String(page.at(-1)) : null;
    return { items: page.map((node) => workflowNode(picture, node)), nextCursor: encodeCursor("nodes", next) };
  });
}

function readRoute(app: HttpApp, runs: RunReader): void {
  const schema = {
    operationId: "getWorkflowNode",
    tags,
    summary: "Read a node of a run",
    params: NodeParams,
    response: { 200: answer(WorkflowNode, "The node as it is now"), ...problems("not-found") },
  };
  app.get("/v1/workflows/:workflowId/nodes/:name", { schema, config: { scope: "jobs:read" } }, async (request) => {
    const { params } = request;
    const picture = await knownPicture(runs, tenantOfCaller(request), params.workflowId);
    return workflowNode(picture, numberOf(picture, params.name));
  });
}

function explainRoute(app: HttpApp, runs: RunReader, explain: Explain): void {
  const schema = {
    operationId: "explainWorkflowNode",
    tags,
    summary: "Why a node waits: every reason, with its figures",
    params: NodeParams,
    response: { 200: answer(NodeExplanation, "As its owner sees it at this moment"), ...problems("not-found") },
  };
  app.get(
    "/v1/workflows/:workflowId/nodes/:name/explain",
    { schema, config: { scope: "jobs:read" } },
    async (request) => {
      const { params } = request;
      const tenant = tenantOfCaller(request);
      const picture = await knownPicture(runs, tenant, params.workflowId);
      const node = numberOf(picture, params.name);
      const executionId = picture.executions.get(node)?.executionId ?? null;
      const state = stateOfNode(picture, node);
      // A node that waits for no other node, and has no execution, waits for the start of its run.
      const awaited = state === "BLOCKED" && picture.progress.openEdges(node) === 0 ? picture.run.executionId : null;
      const ofMap = mapReasons(picture, node);
      const told = ofMap !== null ? null : await toldOf(explain, tenant, executionId ?? awaited);
      const isOpenChild =
        picture.nodes[node]?.workflow !== undefined && executionId !== null && told?.state === "RUNNING";
      const child = isOpenChild ? [{ reason: "CHILD_RUNS", workflowId: executionId } as const] : [];
      const reasons = [...child, ...(ofMap ?? told?.reasons ?? reasonsOf(picture, node))];
      const known = executionId === null ? state : (told?.state ?? state);
      const of = { workflowId: picture.run.executionId, node: params.name };
      const compensation = await explainedCompensation(picture, node, (executionId) =>
        toldOf(explain, tenant, executionId),
      );
      return { ...of, state: known, executionId, keptFrom: keptFrom(picture, node), reasons, compensation };
    },
  );
}

async function explainedCompensation(
  picture: RunPicture,
  node: number,
  toldOf: (executionId: string | null) => ReturnType<Explain>,
): Promise<NodeExplanation["compensation"]> {
  const compensation = compensationView(picture, node);
  if (compensation === null) return null;
  const { state, executionId, after } = compensation;
  const told = await toldOf(executionId);
  if (told !== null) return { state: told.state, executionId, reasons: told.reasons };
  const { run } = picture;
  if (state === "SKIPPED") {
    const why = `the compensation of a node after it has failed: ${after?.first.join(", ")}`;
    return { state, executionId, reasons: [{ reason: "FINAL", state, why, finishedAt: null }] };
  }
  const paused = run.paused ? [{ reason: "WORKFLOW_PAUSED", workflowId: run.executionId } as const] : [];
  if (after !== null) return { state, executionId, reasons: [...paused, { reason: "COMPENSATES_AFTER", ...after }] };
  const live = picture.compensation?.live ?? 0;
  return { state, executionId, reasons: run.paused ? paused : [{ reason: "EXECUTION_AWAITED", live }] };
}

/** Reasons of a map that may start or has started; null: the node is none. */
function mapReasons({ graph, progress, run }: RunPicture, node: number): NodeExplanation["reasons"] | null {
  if (!graph.isMap(node) || run.startedAt === null) return null;
  const state = progress.stateOf(node);
  const paused = run.paused ? [{ reason: "WORKFLOW_PAUSED", workflowId: run.executionId } as const] : [];
  if (state === "READY") return [...paused, { reason: "ITEMS_BEING_COUNTED" }];
  const figures = progress.itemsOf(node);
  if (figures !== null) {
    const { live, unborn } = figures;
    const limit = graph.maps.get(node)?.maxRunning ?? WORKFLOW_LIVE_MAX;
    return [...paused, { reason: unborn > 0 && live >= limit ? "MAP_AT_LIMIT" : "MAP_ITEMS_RUN", live, unborn, limit }];
  }
  const counted = run.mapCounts.find((count) => count.node === node)?.items;
  if (state === "BLOCKED" || state === "LIVE" || counted === undefined) return null;
  const why = typeof counted === "object" ? counted.error.message : null;
  return [{ reason: "FINAL", state, why, finishedAt: null }];
}

async function toldOf(explain: Explain, tenant: Tenant, executionId: string | null) {
  return executionId === null ? null : await explain(tenant, executionId);
}

/** Reasons why a node has no execution. */
function reasonsOf(picture: RunPicture, node: number): NodeExplanation["reasons"] {
  const kept = keptFrom(picture, node);
  if (kept !== null) {
    const whose = kept.executionId === null ? "the items" : `the result of the execution ${kept.executionId}`;
    const why = `this run keeps ${whose} of the run ${kept.workflowId}`;
    return [{ reason: "FINAL", state: "SUCCEEDED", why, finishedAt: null }];
  }
  const { run, progress } = picture;
  const paused = run.paused ? [{ reason: "WORKFLOW_PAUSED", workflowId: run.executionId } as const] : [];
  const blocked = blockedBy(picture, node);
  if (blocked !== null) return [...paused, { reason: "PARENTS_OPEN", ...blocked }];
  const skipped = because(picture, node);
  if (skipped === null) return run.paused ? paused : [{ reason: "EXECUTION_AWAITED", live: progress.live }];
  const edges = skipped.dependencies.map(({ node: parent, when, state }) => `${parent} is ${state}, not ${when}`);
  const why = edges.length === 0 ? skipped.kind : `${skipped.kind}: ${edges.join("; ")}`;
  return [{ reason: "FINAL", state: "SKIPPED", why, finishedAt: null }];
}

/** @throws {ProblemError} 404: there is no such node */
export function numberOf({ nodes }: RunPicture, wanted: string): number {
  const node = nodes.findIndex(({ name }) => name === wanted);
  if (node === -1) throw new ProblemError(problem("not-found", "the workflow has no node of this name"));
  return node;
}
