import type { FastifyInstance, FastifyRequest } from "fastify";
import { sendProblem } from "./error-answers.ts";
import { problem } from "./errors.ts";

/**
 * Answers 404 where no route has the path, and 405 with `Allow` where one has it with other methods; before the body is
 * read, as nobody would look at it. A path that some route has word for word belongs to it alone: `GET /v1/jobs/batch` does
 * not ask for a job of that name.
 */
export function answerUnknownRoutes(app: FastifyInstance, unknown: string): void {
  const routes = new Map<string, Route>();
  app.addHook("onRoute", ({ url, method }) => {
    const route = routes.get(url) ?? { parts: url.split("/"), methods: new Set() };
    for (const each of [method].flat()) route.methods.add(each);
    routes.set(url, route);
  });
  // A hook without a promise, because the time of what follows a promise does not count in the turn of the request.
  app.addHook("onRequest", (request, reply, done) => {
    const path = request.url.replace(/\?.*$/s, "");
    const own = routes.get(path);
    if (!isLost(request, own)) return done();
    const fitting = own === undefined ? methodsOf(path, routes.values()) : [...own.methods];
    if (fitting.length === 0) return sendProblem(reply, problem("not-found", unknown));
    const allow = fitting.sort().join(", ");
    return sendProblem(reply, problem("method-not-allowed", `this path has ${allow}`), { allow });
  });
  // For routes that have many paths below them, as files of the page to try the API.
  app.setNotFoundHandler((_request, reply) => sendProblem(reply, problem("not-found", unknown)));
}

interface Route {
  /** Parts of the route's pattern between slashes. */
  parts: readonly string[];
  methods: Set<string>;
}

/** @param own the route that has the path word for word, if there is one */
function isLost(request: FastifyRequest, own: Route | undefined): boolean {
  return request.is404 || (own !== undefined && !own.methods.has(request.method));
}

/** Methods of all routes whose pattern fits the path. The path is split once, because it may have thousands of parts. */
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
