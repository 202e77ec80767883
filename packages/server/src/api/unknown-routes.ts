import type { FastifyInstance, FastifyRequest } from "fastify";
import { sendProblem } from "./error-answers.ts";
import { problem } from "./errors.ts";

/**
 * Answers 404 where no route has the path, and 405 with `Allow` where one has it with other methods; before the body is
 * read, as nobody would look at it. A path that some route has word for word belongs to it alone: `GET /v1/jobs/batch` does
 * not ask for a job of that name.
 */
export function answerUnknownRoutes(app: FastifyInstance, unknown: string): void {
  const routes = new Map<string, Set<string>>();
  app.addHook("onRoute", ({ url, method }) => {
    const methods = routes.get(url) ?? new Set();
    for (const each of [method].flat()) methods.add(each);
    routes.set(url, methods);
  });
  app.addHook("onRequest", async (request, reply) => {
    const path = request.url.replace(/\?.*$/s, "");
    const own = routes.get(path);
    if (!isLost(request, own)) return;
    const fitting =
      own ?? new Set([...routes].filter(([pattern]) => fits(pattern, path)).flatMap(([, all]) => [...all]));
    if (fitting.size === 0) return sendProblem(reply, problem("not-found", unknown));
    const allow = [...fitting].sort().join(", ");
    return sendProblem(reply, problem("method-not-allowed", `this path has ${allow}`), { allow });
  });
  // For routes that have many paths below them, as files of the page to try the API.
  app.setNotFoundHandler((_request, reply) => sendProblem(reply, problem("not-found", unknown)));
}

/** @param own the methods of the route that has the path word for word, if there is one */
function isLost(request: FastifyRequest, own: ReadonlySet<string> | undefined): boolean {
  return request.is404 || (own !== undefined && !own.has(request.method));
}

function fits(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.at(-1) === "*") return false;
  return wanted.length === given.length && wanted.every((part, index) => part.startsWith(":") || part === given[index]);
}
