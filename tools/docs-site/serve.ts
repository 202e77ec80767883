import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".txt": "text/plain; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

/** Serves a folder of static files on loopback. @returns its server and its address */
export async function serveSite(site: string, port: number): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://site");
    void answerOf(site, pathname).then(({ status, type, body }) => {
      response.writeHead(status, { "content-type": type, "cache-control": "no-cache" }).end(body);
    });
  });
  await new Promise<void>((settle, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", () => settle());
  });
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  return { server, url: `http://127.0.0.1:${bound}` };
}

async function answerOf(site: string, pathname: string): Promise<{ status: number; type: string; body: Buffer }> {
  // A normalized absolute path has no step to a parent folder left.
  const path = normalize(decoded(pathname).replace(/\/$/, "/index.html"));
  try {
    const type = TYPES[extname(path)] ?? "application/octet-stream";
    return { status: 200, type, body: await readFile(join(site, path)) };
  } catch {
    return { status: 404, type: "text/html; charset=utf-8", body: await readFile(join(site, "404.html")) };
  }
}

function decoded(pathname: string): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return "/404.html";
  }
}
