import type { FastifyInstance } from "fastify";
import { sendProblem } from "./error-answers.ts";
import { problem } from "./errors.ts";

/** Answers 404 where no route has the path, and 405 with `Allow` where one has it with other methods. */
export function answerUnknownRoutes(app: FastifyInstance): void {
  const routes = new Map<string, Set<string>>();
  app.addHook("onRoute", ({ url, method }) => {
    const methods = routes.get(url) ?? new Set();
    for (const each of [method].flat()) methods.add(each);
    routes.set(url, methods);
  });
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.replace(/\?.*$/s, "");
    const fitting = [...routes].filter(([pattern]) => fits(pattern, path)).flatMap(([, methods]) => [...methods]);
    if (fitting.length === 0) return sendProblem(reply, problem("not-found", "no route has this path"));
    const allow = [...new Set(fitting)].sort().join(", ");
    return sendProblem(reply, problem("method-not-allowed", `this path has ${allow}`), { allow });
  });
}

function fits(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.at(-1) === "*") return false;
  return wanted.length === given.length && wanted.every((part, index) => part.startsWith(":") || part === given[index]);
}
