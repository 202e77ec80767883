import { Agent, request } from "node:http";
import fc from "fast-check";
import { startTarget } from "../hostile/target.ts";
import type { FuzzedEdge, RunningEdge } from "./fuzzed.ts";
import { type HttpInput, httpInput } from "./http-inputs.ts";

/** The HTTP API of a server with a store of its own: whatever comes in, no answer says that the server failed. */
export const httpEdge: FuzzedEdge = { name: "http", start };

/** An answer that is not there after this time has been forgotten, also on a machine that is busy with other things. */
const ANSWER_MS = 120_000;

async function start(): Promise<RunningEdge> {
  const target = await startTarget({ MAINSPRING_LOG_LEVEL: "silent", MAINSPRING_BUILTIN_WORKER: "off" });
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  return {
    try: async (seed) => {
      const [input] = fc.sample(httpInput, { seed, numRuns: 1 }) as [HttpInput];
      const status = await statusOf(target.port, agent, input);
      // That a node is not ready is no failure to say so.
      if (status === 503 && input.path.startsWith("/readyz")) return null;
      return status >= 500 ? `${status} to ${JSON.stringify(input)}` : null;
    },
    stop: async () => {
      agent.destroy();
      await target.stop();
    },
  };
}

/** 0: the server closed the connection, as it may. */
function statusOf(port: number, agent: Agent, { method, path, headers, body }: HttpInput): Promise<number> {
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
        // A stream of events has begun well, and need not end.
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
      // The client itself refuses to send it.
      resolve(0);
    }
  });
}
