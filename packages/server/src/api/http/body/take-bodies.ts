import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { atEndOfTurn, type Runtime } from "../../../ports/runtime.ts";
import { ProblemError, problem } from "../errors.ts";
import type { RequestTurns } from "../request-turns.ts";
import { limitedTenantOf } from "../security.ts";
import type { BodyBudget } from "./body-budget.ts";
import { BodyReader, hashedLine, tooLarge } from "./body-reader.ts";
import type { BodyParts } from "./json-parts.ts";

export type BodyScope = Pick<FastifyInstance, "removeAllContentTypeParsers" | "addContentTypeParser">;

interface Means {
  budget: BodyBudget;
  runtime: Runtime;
  turns: Pick<RequestTurns, "enter">;
}

/** Number of bytes of a body that are read at once, and in one turn of the event loop. */
const PIECE_BYTES = 64 * 1024;
const TURN_BYTES = 256 * 1024;

/** Reads the bodies of a scope's routes as they arrive. */
export function takeBodies(scope: BodyScope, make: () => BodyParts, { budget, runtime, turns }: Means): void {
  scope.removeAllContentTypeParsers();
  // The parser uses no promise: thousands of bodies may end in one turn, and the time of work after a promise does not
  // count in the turn.
  scope.addContentTypeParser("application/json", (request: FastifyRequest, payload: IncomingMessage, done) => {
    const refused = refusalOf(request);
    if (refused !== null) return done(refused);
    const { url = "", bodyLimit: limitBytes } = request.routeOptions;
    const share = budget.share(limitedTenantOf(request));
    // The share lasts until the answer has left, because the answer may refer to the body's bytes.
    request.response?.once("close", share.release);
    const hashed = request.headers["idempotency-key"] === undefined ? null : hashedLine(url);
    const reader = new BodyReader({ limitBytes, parts: make(), share, hashed });
    takeAll(payload, reader, runtime, (error) => turns.enter(() => handOn(request, reader, error, done)));
  });
}

/** @returns reason to read no byte of the body; null: it is read */
function refusalOf({ headers, routeOptions }: FastifyRequest): ProblemError | null {
  const encoding =
    headers["content-encoding"] ?? headers["transfer-encoding"]?.replace(/(^|,)\s*chunked\s*$/i, "") ?? "";
  if (!/^(identity)?$/i.test(encoding.trim())) return encoded();
  return Number(headers["content-length"] ?? 0) > routeOptions.bodyLimit ? tooLarge() : null;
}

function encoded(): ProblemError {
  const detail = "send the body as it is, without Content-Encoding: the server decodes no gzip, br or other encoding";
  return new ProblemError(problem("unsupported-media-type", detail), { "accept-encoding": "identity" });
}

type Done = (error: Error | null, body?: unknown) => void;

/** @param error reason for which the body is refused; null: it is complete */
function handOn(request: FastifyRequest, reader: BodyReader, error: Error | null, done: Done): void {
  if (error !== null) return done(error);
  let body: unknown;
  try {
    request.received = reader.isEmpty ? null : reader.end();
    body = request.received?.parts.valueOf(request.received.bytes);
  } catch (fault) {
    return done(fault as Error);
  }
  done(null, body);
}

/** @param done called once: with the refusal, or with null when the whole body was read */
function takeAll(
  payload: IncomingMessage,
  reader: BodyReader,
  runtime: Runtime,
  done: (error: Error | null) => void,
): void {
  let turnBytes = 0;
  let isOver = false;
  const end = (error: Error | null) => {
    payload.off("data", take);
    if (!isOver) done(error);
    isOver = true;
  };
  const take = (bytes: Buffer) => {
    try {
      for (let at = 0; at < bytes.length; at += PIECE_BYTES) reader.take(bytes.subarray(at, at + PIECE_BYTES));
    } catch (error) {
      return end(error as Error);
    }
    turnBytes += bytes.length;
    if (turnBytes < TURN_BYTES) return;
    turnBytes = 0;
    payload.pause();
    atEndOfTurn(runtime, () => void payload.resume());
  };
  const cutOff = () => end(new ProblemError(problem("malformed-http", "the body ended before it was whole")));
  payload
    .on("data", take)
    .once("end", () => end(null))
    .once("error", cutOff);
}
