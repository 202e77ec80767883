import { request } from "node:http";
import { parentPort } from "node:worker_threads";
import type { Attack, Outcome } from "./attacker.ts";

/**
 * Creates and sends requests in a thread of its own, because creating them would block the event loop of the server's
 * thread.
 */
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.on("message", async (attack: Attack) => parentPort?.postMessage(await run(attack)));

function run(attack: Attack): Promise<Outcome> {
  const { port, method, path, headers = {}, body = [] } = attack;
  const bytes = Buffer.concat(body.map(([text, times]) => Buffer.from(text.repeat(times))));
  const length = bytes.length === 0 ? {} : { "content-type": "application/json", "content-length": bytes.length };
  return new Promise((resolve) => {
    const sending = request({
      port,
      method,
      path,
      headers: { ...length, ...headers },
      host: "127.0.0.1",
      agent: false,
    });
    sending.on("response", (response) => {
      let answerBytes = 0;
      let head = "";
      response.on("data", (piece: Buffer) => {
        answerBytes += piece.length;
        if (head.length < KEPT_CHARS) head += piece.toString("utf8");
      });
      const done = () =>
        resolve({ status: response.statusCode ?? 0, bytes: answerBytes, head: head.slice(0, KEPT_CHARS) });
      response.on("end", done).on("error", done);
    });
    sending.on("error", (error) => resolve({ status: 0, bytes: 0, head: String(error) }));
    sending.end(bytes);
  });
}

const KEPT_CHARS = 4_096;
