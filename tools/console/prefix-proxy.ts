import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy that serves a server under a prefix, as `/ops`. It leaves the header Host as it came. */
export async function startPrefixProxy(
  target: string,
  prefix: string,
): Promise<{ url: string; stop(): Promise<void> }> {
  const { hostname, port } = new URL(target);
  const server = createServer((asked, answer) => {
    const { url = "/", method = "GET", headers } = asked;
    if (!url.startsWith(`${prefix}/`)) return void answer.writeHead(404).end("the proxy knows no such path");
    const passed = request({ hostname, port, path: url.slice(prefix.length), method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    passed.on("error", () => answer.writeHead(502).end("the server does not answer"));
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`, stop };
}
