import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { HandTimers, invoke } from "../handlers.fixture.ts";
import { CERTIFICATE, PRIVATE_KEY } from "./certificate.fixture.ts";
import { type HttpTaskOptions, httpTask } from "./http-task.ts";

export interface Received {
  request: IncomingMessage;
  body: string;
}

/** An HTTP server, and the handler under test. */
export async function httpScene(
  test: TestContext,
  answer: (response: ServerResponse, received: Received) => void,
  options: Partial<HttpTaskOptions> & { tls?: boolean } = {},
) {
  const received: Received[] = [];
  const listener: RequestListener = (request, response) => {
    request
      .setEncoding("utf8")
      .toArray()
      .then((chunks) => {
        const one = { request, body: chunks.join("") };
        received.push(one);
        answer(response, one);
      });
  };
  const tls = { cert: CERTIFICATE, key: PRIVATE_KEY };
  const server = options.tls ? createTlsServer(tls, listener) : createServer(listener);
  const port = await listen(server, test);
  const clock = new HandTimers();
  const task = httpTask({ runtime: clock.runtime, allowPrivate: ["127.0.0.0/8"], webhookSecret: null, ...options });
  const url = `${options.tls ? "https" : "http"}://127.0.0.1:${port}`;
  const call = (payload: object = {}) => invoke(task, { url: `${url}/path?query=secret`, ...payload });
  return { server, port, url, received, clock, task, call };
}

async function listen(server: Server, test: TestContext): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  test.after(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}
