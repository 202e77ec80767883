import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import { Type } from "typebox";
import { addProblemSchema, answer, problems } from "./documented.ts";
import { describeProblem, ProblemError, problem } from "./errors.ts";
import type { HttpApp } from "./http-app.ts";

/** Collects the routes that are added after it. */
export async function collectRoutes(app: HttpApp, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Mainspring",
        version,
        description: "Jobs that run once: now, at an instant, or after a delay. Errors are problem+json (RFC 9457).",
      },
      tags: [
        { name: "jobs", description: "What to run and when" },
        { name: "executions", description: "What became of it" },
        { name: "node", description: "The server and its workers" },
        { name: "docs", description: "This description, and what errors mean" },
      ],
      components: { securitySchemes: { apiKey: { type: "http", scheme: "bearer" } } },
      security: [{ apiKey: [] }, {}],
    },
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? `schema-${i}`) },
  });
  addProblemSchema(app);
}

/** /docs, /openapi.json and /problems/{name}; all of it works without any network. */
export async function docsRoutes(app: HttpApp): Promise<void> {
  await app.register(swaggerUi, { routePrefix: "/docs", staticCSP: true, uiConfig: { tryItOutEnabled: true } });
  app.get("/openapi.json", { schema: { hide: true } }, () => app.swagger());
  const schema = {
    operationId: "explainProblem",
    tags: ["docs"],
    summary: "What a problem type means, and what to do",
    params: Type.Object({ name: Type.String() }),
    response: {
      200: answer(
        Type.Object({ type: Type.String(), title: Type.String(), status: Type.Integer(), help: Type.String() }),
        "The problem type",
      ),
      ...problems("not-found"),
    },
  };
  app.get("/problems/:name", { schema }, (request) => {
    const found = describeProblem(request.params.name);
    if (found === null) throw new ProblemError(problem("not-found", "there is no such problem type"));
    return found;
  });
}
