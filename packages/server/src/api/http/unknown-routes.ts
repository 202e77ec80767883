import type { FastifyInstance, FastifyRequest } from "fastify";
import { sendProblem } from "./error-answers.ts";
import { problem } from "./errors.ts";

/**
 * Answers 404 if no route has the path, and 405 with `Allow` if a route has it with other methods; both before the body
 * is read, because no route would use it. A path that equals that of a route literally belongs to this route alone:
 * `GET /v1/jobs/batch` does not ask for a job of that name.
 */
export function answerUnknownRoutes(app: FastifyInstance, unknown: string): void {
  const routes = new Map<string, Route>();
  app.addHook("onRoute", ({ url, method }) => {
    const route = routes.get(url) ?? { parts: url.split("/"), methods: new Set() };
    for (const each of [method].flat()) route.methods.add(each);
    routes.set(url, route);
  });
  // The hook uses no promise, because the time of work after a promise does not count in the turn of the request.
  app.addHook("onRequest", (request, reply, done) => {
    const path = request.url.replace(/\?.*$/s, "");
    const own = routes.get(path);
    if (!isLost(request, own)) return done();
    const fitting = own === undefined ? methodsOf(path, routes.values()) : [...own.methods];
    if (fitting.length === 0) return sendProblem(reply, problem("not-found", unknown));
    const allow = fitting.sort().join(", ");
    return sendProblem(reply, problem("method-not-allowed", `this path has ${allow}`), { allow });
  });
  // For routes with many paths below them, such as the files of the page to try the API.
  app.setNotFoundHandler((_request, reply) => sendProblem(reply, problem("not-found", unknown)));
}

interface Route {
  /** Parts of the route's pattern between slashes. */
  parts: readonly string[];
  methods: Set<string>;
}

/** @param own route that has the path literally, if there is one */
function isLost(request: FastifyRequest, own: Route | undefined): boolean {
  return request.is404 || (own !== undefined && !own.methods.has(request.method));
}

/**
 * Methods of all routes whose pattern matches the path. The path is split once, because it may have thousands of parts.
 */
function methodsOf(path: string, routes: Iterable<Route>): string[] {
  const given = path.split("/");
  const methods = new Set<string>();
  for (const route of routes) if (fits(route.parts, given)) for (const each of route.methods) methods.add(each);
  return [...methods];
}

function fits(wanted: readonly string[], given: readonly string[]): boolean {
  if (wanted.at(-1) === "*") return false;
  return wanted.length === given.length && wanted.every((part, index) => part.startsWith(":") || part === given[index]);
}
