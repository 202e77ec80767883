import { WorkflowGraphBody } from "@mainspring/contract";
import { Type } from "typebox";
import type { Turns } from "../../ports/turns.ts";
import { problems } from "../http/documented.ts";
import type { HttpApp } from "../http/http-app.ts";
import { tenantOfCaller } from "../http/security.ts";
import { dotOf, mermaidOf } from "./graph-texts.ts";
import type { RunReader } from "./run-picture.ts";
import { knownPicture, WorkflowParams } from "./workflow-routes.ts";
import { graphNode } from "./workflow-views.ts";

const Query = Type.Object(
  {
    format: Type.Optional(
      Type.Unsafe<"json" | "mermaid" | "dot">({
        type: "string",
        enum: ["json", "mermaid", "dot"],
        description: "default json; mermaid and dot: a text for programs that draw graphs",
      }),
    ),
  },
  { additionalProperties: false },
);

/** Route GET /v1/workflows/{workflowId}/graph */
export function graphRoute(app: HttpApp, runs: RunReader, turns: Turns): void {
  const schema = {
    operationId: "getWorkflowGraph",
    tags: ["workflows"],
    summary: "Read the graph of a run, with the states of its nodes",
    params: WorkflowParams,
    querystring: Query,
    response: {
      200: {
        description: "The graph",
        content: {
          "application/json": { schema: WorkflowGraphBody },
          "text/plain": { schema: Type.String() },
          "text/vnd.graphviz": { schema: Type.String() },
        },
      },
      ...problems("not-found"),
    },
  };
  app.get("/v1/workflows/:workflowId/graph", { schema, config: { scope: "jobs:read" } }, async (request, reply) => {
    const { params, query } = request;
    const picture = await knownPicture(runs, tenantOfCaller(request), params.workflowId);
    const numbers = [...picture.nodes.keys()].filter((node) => !picture.graph.isVoid(node));
    const nodes = await turns.map(numbers, (node) => graphNode(picture, node));
    if (query.format === "mermaid") return reply.type("text/plain; charset=utf-8").send(mermaidOf(nodes));
    if (query.format === "dot") return reply.type("text/vnd.graphviz; charset=utf-8").send(dotOf(nodes));
    return { workflowId: picture.run.executionId, onFailure: picture.graph.onFailure, nodes };
  });
}
