import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { TestContext } from "node:test";
import { gunzipSync } from "node:zlib";

/** Request that the receiver got, unzipped. */
export interface Received {
  path: string;
  headers: IncomingMessage["headers"];
  body: Uint8Array;
}

/** A receiver of OTLP over HTTP on a free port, which ends with the test. */
export async function startReceiver(test: TestContext) {
  const received: Received[] = [];
  const receiver = {
    received,
    url: "",
    /** Answers a request; replaced by tests. */
    answer: (response: ServerResponse): unknown => response.end(),
    /** Called for each request, before its answer. */
    arrived: (): void => undefined,
  };
  const server = createServer(async (request, response) => {
    const body = gunzipSync(await buffer(request));
    received.push({ path: request.url ?? "", headers: request.headers, body });
    receiver.arrived();
    receiver.answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return receiver;
}
