import { readFileSync } from "node:fs";
import { join } from "node:path";
import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import {
  EventKind,
  ExecutionState,
  FinalState,
  JobState,
  JobType,
  NodeRole,
  OnFailure,
  OnWorkerLost,
  ProblemTypeBody,
  ProblemTypesBody,
  Trigger,
  WorkflowNodeState,
} from "@mainspring/contract";
import type { FastifyReply } from "fastify";
import { Type } from "typebox";
import { answer, problems } from "./documented.ts";
import { describeProblem, PROBLEM_NAMES, ProblemError, problem } from "./errors.ts";
import type { HttpApp } from "./http-app.ts";
import { nameSchemas } from "./named-schemas.ts";

/** Lists of values that routes describe in several ways, each with its own description here. */
const DECLARED = {
  EventKind,
  ExecutionState,
  FinalState,
  JobState,
  JobType,
  NodeRole,
  OnFailure,
  OnWorkerLost,
  Trigger,
  WorkflowNodeState,
};

/**
 * Collects routes that are added after this call, for `app.swagger()`. Only `npm run generate` and tests call that: it
 * holds the event loop for half a second.
 */
export async function collectRoutes(app: HttpApp, version: string): Promise<void> {
  /** Ids of the operations whose body may be left out. */
  const lacking = new Set<string>();
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Mainspring",
        version,
        description:
          "A distributed job scheduler. Submit jobs that run now, at a time, after a delay or on a schedule; workers run them at " +
          "least once. Follow each execution, cancel, retry and replay it, and read why one waits. Errors are problem+json (RFC 9457).",
      },
      tags: [
        { name: "jobs", description: "Handlers to run, with their payloads and times" },
        { name: "executions", description: "Runs of jobs: their states, results and events" },
        { name: "events", description: "Changes of executions and jobs, as they happen" },
        { name: "workflows", description: "Graphs of handlers: each node runs when the nodes before it allow it" },
        {
          name: "dead letters",
          description: "Executions that used up their budget, until they are replayed or discarded",
        },
        { name: "requests", description: "Requests for jobs that came without the API, such as by mainspring_submit" },
        { name: "webhooks", description: "Requests that tell other programs of ends and events" },
        { name: "keys", description: "API keys: who may do what" },
        { name: "tenants", description: "Customers or teams whose jobs and keys are apart from each other" },
        { name: "pools", description: "Queues, and how their work is ordered and placed" },
        { name: "node", description: "The server and its workers" },
        { name: "docs", description: "This description, and what errors mean" },
      ],
      components: { securitySchemes: { apiKey: { type: "http", scheme: "bearer" } } },
      security: [{ apiKey: [] }, {}],
    },
    transform: ({ schema, url, route }) => {
      const { scope, mayLackBody } = route.config ?? {};
      if (mayLackBody === true && schema?.operationId !== undefined) lacking.add(schema.operationId);
      return { url, schema: schema?.hide === true ? schema : ({ ...schema, "x-scope": scope } as typeof schema) };
    },
    transformObject: (made) =>
      "openapiObject" in made
        ? nameSchemas(withOptionalBodies(made.openapiObject, lacking), DECLARED)
        : made.swaggerObject,
  });
}

interface Described {
  paths?: Record<string, object | undefined>;
}

/** Marks the bodies of these operations as ones that may be left out; the library marks all bodies as required. */
function withOptionalBodies<D extends Described>(document: D, operationIds: ReadonlySet<string>): D {
  for (const path of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(path ?? {})) {
      const { operationId, requestBody } = operation as { operationId?: string; requestBody?: { required?: boolean } };
      if (operationId !== undefined && requestBody !== undefined && operationIds.has(operationId))
        requestBody.required = false;
    }
  }
  return document;
}

/**
 * Content security policy of the page: everything comes from this server, even without TLS, and no other page may frame
 * it.
 */
const PAGE_POLICY = {
  "default-src": "'self'",
  "base-uri": "'none'",
  "form-action": "'none'",
  "frame-ancestors": "'none'",
  "img-src": "'self' data:",
  "object-src": "'none'",
};

/** Logo: the mainspring of a clock, a spiral. */
const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 230 48" height="40" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round">' +
  '<path d="M24 24a3 3 0 0 1 3 3a6 6 0 0 1-6 6a9 9 0 0 1-9-9a12 12 0 0 1 12-12a15 15 0 0 1 15 15a18 18 0 0 1-18 18"/>' +
  '<text x="52" y="33" fill="#fff" stroke="none" font-family="sans-serif" font-size="26" font-weight="600">Mainspring</text></svg>';

/** The document as `npm run generate` has written it. */
const FILE = join(import.meta.dirname, "../../../openapi.json");

/** Routes /, /docs, /openapi.json, /problems and /problems/{name}. None of them needs a network beyond the server. */
export async function docsRoutes(app: HttpApp, version: string): Promise<void> {
  const document = lazily(() => documentOf(version));
  const answers = (type: string) => (_: unknown, reply: FastifyReply) => void reply.type(type).send(document());
  const json = answers("application/json; charset=utf-8");
  // JSON is YAML, too.
  const ofPage = new Map([
    ["/docs/json", json],
    ["/docs/yaml", answers("application/x-yaml")],
  ]);
  await app.register(async (page) => {
    page.addHook("onRoute", (route) => {
      route.config = { ...route.config, scope: "public" };
      route.handler = ofPage.get(route.url) ?? route.handler;
    });
    await page.register(swaggerUi, {
      routePrefix: "/docs",
      staticCSP: PAGE_POLICY,
      logo: { type: "image/svg+xml", content: Buffer.from(LOGO), href: "/docs", target: "_self" },
      theme: { title: "Mainspring API" },
      // An external validator would learn of this server.
      uiConfig: { tryItOutEnabled: true, validatorUrl: null },
    });
  });
  app.get("/openapi.json", { schema: { hide: true }, config: { scope: "public" } }, json);
  app.get("/", { schema: { hide: true }, config: { scope: "public" } }, async (request, reply) => {
    void reply.header("vary", "accept");
    if (prefersPage(request.headers.accept)) return reply.redirect("console/");
    return { name: "mainspring", version, ...ENTRANCES };
  });
  problemRoutes(app);
}

function documentOf(version: string): Buffer {
  const document = JSON.parse(readFileSync(FILE, "utf8")) as { info: object };
  return Buffer.from(JSON.stringify({ ...document, info: { ...document.info, version } }));
}

/** Creates a value at its first use. */
function lazily<T>(make: () => T): () => T {
  let made: T | null = null;
  return () => (made ??= make());
}

/** Paths for a program that knows only the server's address. */
const ENTRANCES = {
  console: "/console/",
  docs: "/docs",
  openapi: "/openapi.json",
  problems: "/problems",
  ready: "/readyz",
  api: "/v1",
};

/** Whether a client prefers HTML. Browsers name text/html; programs name JSON, anything or nothing. */
function prefersPage(accept: string | undefined): boolean {
  return /(^|[,\s])text\/html($|[,;\s])/i.test(accept ?? "");
}

function problemRoutes(app: HttpApp): void {
  const listSchema = {
    operationId: "listProblems",
    tags: ["docs"],
    summary: "Every problem type; needs no key",
    response: { 200: answer(ProblemTypesBody, "All of them"), ...problems() },
  };
  app.get("/problems", { schema: listSchema, config: { scope: "public" } }, () => ({
    items: PROBLEM_NAMES.flatMap((name) => describeProblem(name) ?? []),
  }));
  const schema = {
    operationId: "explainProblem",
    tags: ["docs"],
    summary: "Explain a problem type, and what to do; needs no key",
    params: Type.Object({ name: Type.String() }),
    response: {
      200: answer(ProblemTypeBody, "The problem type"),
      ...problems("not-found"),
    },
  };
  app.get("/problems/:name", { schema, config: { scope: "public" } }, (request) => {
    const found = describeProblem(request.params.name);
    if (found === null) throw new ProblemError(problem("not-found", "there is no such problem type"));
    return found;
  });
}
