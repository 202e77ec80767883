import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import { Type } from "typebox";
import { addProblemSchema, answer, problems } from "./documented.ts";
import { describeProblem, PROBLEM_NAMES, ProblemError, problem } from "./errors.ts";
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
        {
          name: "dead letters",
          description: "Executions that used up their budget, until they are replayed or discarded",
        },
        { name: "pools", description: "Queues, and how their work is ordered and placed" },
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

/** All that the page needs comes from here, also where it is served without TLS; and nobody may frame it. */
const PAGE_POLICY = {
  "default-src": "'self'",
  "base-uri": "'none'",
  "form-action": "'none'",
  "frame-ancestors": "'none'",
  "img-src": "'self' data:",
  "object-src": "'none'",
};

const ProblemTypeBody = Type.Object({
  type: Type.String({ description: "what a problem says as its `type`" }),
  title: Type.String(),
  status: Type.Integer(),
  help: Type.String({ description: "what to do" }),
});

/** /docs, /openapi.json, /problems and /problems/{name}; all of it works without any network. */
export async function docsRoutes(app: HttpApp): Promise<void> {
  await app.register(swaggerUi, {
    routePrefix: "/docs",
    staticCSP: PAGE_POLICY,
    // Nobody else is to be told of this server, as a validator would be.
    uiConfig: { tryItOutEnabled: true, validatorUrl: null },
  });
  app.get("/openapi.json", { schema: { hide: true } }, () => app.swagger());
  problemRoutes(app);
}

function problemRoutes(app: HttpApp): void {
  const listSchema = {
    operationId: "listProblems",
    tags: ["docs"],
    summary: "Every problem type; needs no key",
    response: { 200: answer(Type.Object({ items: Type.Array(ProblemTypeBody) }), "All of them"), ...problems() },
  };
  app.get("/problems", { schema: listSchema }, () => ({
    items: PROBLEM_NAMES.flatMap((name) => describeProblem(name) ?? []),
  }));
  const schema = {
    operationId: "explainProblem",
    tags: ["docs"],
    summary: "What a problem type means, and what to do; needs no key",
    params: Type.Object({ name: Type.String() }),
    response: {
      200: answer(ProblemTypeBody, "The problem type"),
      ...problems("not-found"),
    },
  };
  app.get("/problems/:name", { schema }, (request) => {
    const found = describeProblem(request.params.name);
    if (found === null) throw new ProblemError(problem("not-found", "there is no such problem type"));
    return found;
  });
}
