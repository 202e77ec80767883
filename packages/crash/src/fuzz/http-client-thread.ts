import { Agent, request } from "node:http";
import { parentPort, workerData } from "node:worker_threads";
import fc from "fast-check";
import type { Answered } from "./http-edge.ts";
import { type HttpInput, httpInput } from "./http-inputs.ts";

/** Creates inputs and sends them, so that the server's thread only serves. */
const port = workerData as number;
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
/** Longest wait for an answer, in milliseconds: an answer that takes longer was forgotten, even on a busy machine. */
const ANSWER_MS = 120_000;

parentPort?.on("message", async (seed: number) => {
  const [input] = fc.sample(httpInput, { seed, numRuns: 1 }) as [HttpInput];
  const status = await statusOf(input);
  // A 503 of /readyz is a correct answer of a node that is not ready.
  const isFault = status >= 500 && !(status === 503 && input.path.startsWith("/readyz"));
  const answered: Answered = { seed, fault: isFault ? `${status} to ${JSON.stringify(input)}` : null };
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(answered);
});

/** Status of the answer; 0: the server closed the connection, which it may do. */
function statusOf({ method, path, headers, body }: HttpInput): Promise<number> {
  return new Promise((resolve) => {
    const given = new Map(body === null ? [] : [["content-type", "application/json"]]);
    for (const header of headers) {
      const [name = "", value = ""] = header.split(": ");
      given.set(name, Buffer.from(value).toString("latin1"));
    }
    try {
      const sending = request({
        host: "127.0.0.1",
        port,
        agent,
        method,
        path,
        headers: Object.fromEntries(given),
        timeout: ANSWER_MS,
      });
      sending.on("response", (response) => {
        const done = () => resolve(response.statusCode ?? 0);
        // A stream of events has started correctly, and need not end.
        if (String(response.headers["content-type"]).startsWith("text/event-stream"))
          return (done(), void sending.destroy());
        response.on("end", done).on("error", done).resume();
      });
      sending.on("timeout", () => {
        resolve(599);
        sending.destroy();
      });
      sending.on("error", () => resolve(0));
      if (method === "GET" || body === null) sending.end();
      else sending.end(body);
    } catch {
      // The client itself refuses to send the request.
      resolve(0);
    }
  });
}
