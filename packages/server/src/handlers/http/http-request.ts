import type { TaskContext } from "@mainspring/sdk";
import { type Dispatcher, request } from "undici";
import { AddressRefused } from "./guarded-connector.ts";
import { type HttpPayload, methodOf } from "./http-payload.ts";
import { readBody } from "./kept-body.ts";
import { webhookHeaders } from "./webhook-signature.ts";

/** Largest kept body, in bytes, because a result cannot hold more. */
const BODY_MAX_BYTES = 1024 * 1024;
/** Part of a failed answer that the error quotes, in characters. */
export const EXCERPT_MAX_BYTES = 2_000;

/** Answer of the server, with the kept part of its body. */
export interface Answer {
  response: Dispatcher.ResponseData<unknown>;
  bytes: Buffer;
  isCut: boolean;
}

export type RequestOptions = Pick<Dispatcher.RequestOptions, "method" | "headers" | "body">;

/** @param secret secret of the signature; null: the request is not signed */
export function requestOf(
  payload: HttpPayload,
  ctx: TaskContext,
  nowMs: number,
  secret: string | null,
): RequestOptions {
  const isText = typeof payload.body === "string";
  const body = isText ? (payload.body as string) : payload.body === undefined ? "" : JSON.stringify(payload.body);
  const headers = {
    "user-agent": "mainspring",
    // For the receiver, all attempts are one request; it may have handled an earlier one whose answer was lost.
    "idempotency-key": ctx.executionId,
    ...(payload.body !== undefined && { "content-type": isText ? "text/plain; charset=utf-8" : "application/json" }),
    ...(ctx.traceparent !== null && { traceparent: ctx.traceparent }),
    ...Object.fromEntries(Object.entries(payload.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])),
    "mainspring-fence": ctx.fence,
    ...(secret !== null && webhookHeaders([secret], ctx.executionId, Math.floor(nowMs / 1_000), body)),
  };
  return { method: methodOf(payload), headers, body: payload.body === undefined ? null : body };
}

/** @throws the abort's reason, the refusal, or an error that names the request and its problem */
export async function send(
  payload: HttpPayload,
  options: RequestOptions & { dispatcher: Dispatcher },
  signal: AbortSignal,
): Promise<Answer> {
  try {
    // One timeout covers everything, so undici's own timeouts are off.
    const response = await request(payload.url, { ...options, signal, headersTimeout: 0, bodyTimeout: 0 });
    return { response, ...(await readBody(response.body, isSuccess(response) ? BODY_MAX_BYTES : EXCERPT_MAX_BYTES)) };
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof AddressRefused) throw cause;
    throw new Error(`${nameOf(payload)} failed: ${reasonOf(cause)}`, { cause });
  }
}

export function isSuccess({ statusCode }: Answer["response"]): boolean {
  return statusCode >= 200 && statusCode <= 299;
}

/** Reason of an error. A host that was tried by several addresses fails with all of their errors and no message. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(", ");
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || String(error);
}

/** Name of a request in errors, without path and query, which may be secret. */
export function nameOf(payload: HttpPayload): string {
  return `${methodOf(payload)} ${new URL(payload.url).origin}`;
}
