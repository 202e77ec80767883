import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { atEndOfTurn, type Runtime } from "../ports/runtime.ts";
import type { BodyBudget } from "./body-budget.ts";
import { BodyReader, type ReceivedBody, tooLarge } from "./body-reader.ts";
import { ProblemError, problem } from "./errors.ts";
import type { BodyParts } from "./json-parts.ts";

export type BodyScope = Pick<FastifyInstance, "removeAllContentTypeParsers" | "addContentTypeParser">;

interface Means {
  budget: BodyBudget;
  runtime: Runtime;
}

/** How much of a body is taken at once, and in one turn of the event loop. */
const PIECE_BYTES = 64 * 1024;
const TURN_BYTES = 256 * 1024;

/** Reads the bodies of a scope's routes as they come in. */
export function takeBodies(scope: BodyScope, make: () => BodyParts, { budget, runtime }: Means): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("application/json", async (request: FastifyRequest, payload: IncomingMessage) => {
    const { url = "", bodyLimit: limitBytes } = request.routeOptions;
    if (Number(request.headers["content-length"] ?? 0) > limitBytes) throw tooLarge();
    const share = budget.share();
    // Until the answer has left, because it may refer to the body's bytes.
    request.response?.once("close", share.release);
    const hashed = request.headers["idempotency-key"] === undefined ? null : `POST ${url}\n`;
    const reader = new BodyReader({ limitBytes, parts: make(), share, hashed });
    request.received = await takeAll(payload, reader, runtime);
    return request.received?.parts.valueOf(request.received.bytes);
  });
}

/** @returns null: the body is empty */
async function takeAll(payload: IncomingMessage, reader: BodyReader, runtime: Runtime): Promise<ReceivedBody | null> {
  await new Promise<void>((resolve, reject) => {
    let turnBytes = 0;
    const refuse = (error: unknown) => {
      payload.off("data", take);
      reject(error as Error);
    };
    const take = (bytes: Buffer) => {
      try {
        for (let at = 0; at < bytes.length; at += PIECE_BYTES) reader.take(bytes.subarray(at, at + PIECE_BYTES));
      } catch (error) {
        return refuse(error);
      }
      turnBytes += bytes.length;
      if (turnBytes < TURN_BYTES) return;
      turnBytes = 0;
      payload.pause();
      atEndOfTurn(runtime, () => void payload.resume());
    };
    const cutOff = () => refuse(new ProblemError(problem("malformed-http", "the body ended before it was whole")));
    payload.on("data", take).once("end", resolve).once("error", cutOff);
  });
  return reader.isEmpty ? null : reader.end();
}
