import type { FastifyReply, FastifyRequest } from "fastify";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { type ConsoleFiles, PAGE } from "./console-files.ts";

/** Rules for browsers: the page uses nothing from elsewhere, no code within itself, and no other page frames it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const HEADERS = {
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "no-referrer",
  vary: "accept-encoding",
};

/** Names of built files but the page change with their content. */
const FOREVER = "public, max-age=31536000, immutable";

const NOT_BUILT = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>The console is not built</title>
<h1>The console is not built</h1>
<p>This server runs from a clone of the repository, and nobody has built the web console there. Run
<code>npm run build --workspace @mainspring/console</code> in the clone, then load this page again. The server need not be
restarted. Packages from npm contain the console.</p>
<p>The <a href="../docs">description of the API</a> is here.</p>
</html>
`;

type Asked = Pick<FastifyRequest, "headers">;

/** Routes /console and /console/*, which need no key: the files are the same for everybody. */
export function consoleRoutes(app: HttpApp, files: ConsoleFiles): void {
  const options = { schema: { hide: true }, config: { scope: "public" } } as const;
  // Relative to the address that the browser knows, which a proxy may have lengthened by a prefix.
  app.get("/console", options, (_request, reply) => reply.redirect("console/"));
  app.get("/console/", options, async (request, reply) => {
    const sent = await sendFile(files, PAGE, request, reply);
    return sent ?? reply.code(503).headers(HEADERS).type("text/html; charset=utf-8").send(NOT_BUILT);
  });
  app.get<{ Params: { "*": string } }>("/console/*", options, async (request, reply) => {
    const sent = await sendFile(files, request.params["*"], request, reply);
    if (sent === null) throw new ProblemError(problem("not-found", "the console has no such file"));
    return sent;
  });
}

/** @returns null: there is no such file */
async function sendFile(
  files: ConsoleFiles,
  path: string,
  { headers }: Asked,
  reply: FastifyReply,
): Promise<FastifyReply | null> {
  const file = await files.get(path);
  if (file === null) return null;
  const isZipped = /\bgzip\b/i.test(headers["accept-encoding"] ?? "");
  if (isZipped) void reply.header("content-encoding", "gzip");
  void reply.headers(HEADERS).header("cache-control", path === PAGE ? "no-cache" : FOREVER);
  return reply.type(file.type).send(isZipped ? file.zipped : file.body);
}
