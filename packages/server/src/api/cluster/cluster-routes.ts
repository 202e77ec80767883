import { ClusterBody, ClusterNodeBody } from "@mainspring/contract";
import { Type } from "typebox";
import { lackingNode } from "../../domain/cluster/feature-level.ts";
import type { Incarnation } from "../../domain/ids.ts";
import type { Role } from "../../ports/bus.ts";
import type { KnownNode } from "../../ports/leases.ts";
import { noteOf } from "../audit/audit-notes.ts";
import { lackingText } from "../feature-gate.ts";
import { refuseBody } from "../http/body/no-body.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { type ClusterDependencies, viewCluster } from "./cluster-view.ts";

const tags = ["node"];
const params = Type.Object({ nodeId: Type.String({ minLength: 1, maxLength: 128 }) });

/** Routes GET /v1/cluster, POST /v1/cluster/nodes/{nodeId}/drain and …/undrain */
export function clusterRoutes(app: HttpApp, deps: ClusterDependencies): void {
  const schema = {
    operationId: "getCluster",
    tags,
    summary: "The nodes, which shards they own, and how far they are behind",
    response: { 200: answer(ClusterBody, "As it is now"), ...problems() },
  };
  app.get("/v1/cluster", { schema, config: { scope: "system:admin", isShared: true } }, () => viewCluster(deps));
  drainRoute(app, deps);
  undrainRoute(app, deps);
}

function drainRoute(app: HttpApp, deps: ClusterDependencies): void {
  const schema = {
    operationId: "drainNode",
    tags,
    summary:
      "Have a node give its shards and workers to the others, one after the other, and take none. Its api goes on",
    params,
    response: {
      202: answer(
        ClusterNodeBody,
        "Kept with the node's lease, so that it hears of it within a second. It is done when it has no shards and no workers. Lasts until it is taken back, or the node is restarted. Repeating it is harmless.",
      ),
      ...problems("not-found", "wrong-state"),
    },
  };
  app.post("/v1/cluster/nodes/:nodeId/drain", { schema, config: { scope: "system:admin" } }, async (request, reply) => {
    refuseBody(request.body);
    const { nodeId } = request.params;
    const nodes = (await deps.leases.list()).filter(({ isLiving }) => isLiving);
    refuseToDrain(nodes, nodeId);
    await deps.store.audit.write([noteOf(request, nodeId)]);
    return reply.code(202).send(await setDraining(deps, nodeId, true));
  });
}

function undrainRoute(app: HttpApp, deps: ClusterDependencies): void {
  const schema = {
    operationId: "undrainNode",
    tags,
    summary: "Have a node that was drained take shards and workers again",
    params,
    response: { 202: answer(ClusterNodeBody, "Told. Repeating it is harmless."), ...problems("not-found") },
  };
  app.post(
    "/v1/cluster/nodes/:nodeId/undrain",
    { schema, config: { scope: "system:admin" } },
    async (request, reply) => {
      refuseBody(request.body);
      const { nodeId } = request.params;
      if (!(await deps.leases.list()).some(({ incarnation }) => incarnation === nodeId)) throw unknown(nodeId);
      await deps.store.audit.write([noteOf(request, nodeId)]);
      return reply.code(202).send(await setDraining(deps, nodeId, false));
    },
  );
}

async function setDraining(
  deps: ClusterDependencies,
  nodeId: Incarnation,
  isDraining: boolean,
): Promise<ClusterNodeBody> {
  if (!(await deps.leases.drain(nodeId, isDraining))) throw unknown(nodeId);
  const { nodes } = await viewCluster(deps);
  const body = nodes.find((node) => node.nodeId === nodeId);
  if (body === undefined) throw unknown(nodeId);
  return body;
}

/** @throws {ProblemError} no other node could take the node's work */
function refuseToDrain(living: readonly KnownNode[], nodeId: Incarnation): void {
  const node = living.find(({ incarnation }) => incarnation === nodeId);
  if (node === undefined) throw unknown(nodeId);
  if (living.length === 1) {
    throw refused("this server is alone, and nobody could take its work: to end it, stop it; what it runs is finished");
  }
  const lacking = lackingNode(living, "DRAINING");
  if (lacking !== null) throw refused(lackingText("DRAINING", lacking, ", or stop the node by SIGTERM"));
  for (const role of ["scheduler", "gateway"] as const) {
    if (node.roles.includes(role) && !living.some((other) => other !== node && takes(other, role))) {
      const wanted = role === "scheduler" ? "takes its shards" : "takes its workers";
      throw refused(`no other node ${wanted}: start one with the role ${role} first, or take the draining of one back`);
    }
  }
}

function takes({ roles, draining }: KnownNode, role: Role): boolean {
  return roles.includes(role) && !draining;
}

function refused(detail: string): ProblemError {
  return new ProblemError(problem("wrong-state", detail));
}

function unknown(nodeId: Incarnation): ProblemError {
  return new ProblemError(problem("not-found", `no living node has the id ${nodeId}; GET /v1/cluster lists them`));
}
