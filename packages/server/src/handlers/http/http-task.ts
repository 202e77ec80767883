import { RESULT_MAX_BYTES } from "@mainspring/contract/limits";
import { RetryAtError, type Task, TerminalError, task } from "@mainspring/sdk";
import { Agent } from "undici";
import type { Runtime } from "../../ports/runtime.ts";
import { AddressPolicy } from "./address-policy.ts";
import { guardedConnector, type Lookup } from "./guarded-connector.ts";
import { type HttpPayload, httpPayload, isRetried } from "./http-payload.ts";
import { type Answer, EXCERPT_MAX_BYTES, isSuccess, nameOf, requestOf, send } from "./http-request.ts";
import { type KeptBody, keptBody } from "./kept-body.ts";
import { retryAtMs } from "./retry-after.ts";

export interface HttpTaskOptions {
  runtime: Runtime;
  /** CIDRs outside the public internet to which requests may go. */
  allowPrivate: readonly string[];
  /** Secret of the signature by Standard Webhooks: `whsec_` and base64; null: requests are not signed. */
  webhookSecret: string | null;
  /** Name resolution; default: the system's. */
  lookup?: Lookup;
}

export interface HttpResult extends KeptBody {
  status: number;
  /** Headers by lower-case name, without cookies. */
  headers: Record<string, string | string[]>;
}

const TIMEOUT_SEC = 30;

/** Sends one HTTP request. The attempt succeeds with the answer if the status is 2xx. */
export function httpTask({
  runtime,
  allowPrivate,
  webhookSecret,
  lookup,
}: HttpTaskOptions): Task<HttpPayload, HttpResult> {
  // Idle connections keep no process alive, and close by themselves.
  const agent = new Agent({ connect: guardedConnector(new AddressPolicy(allowPrivate), lookup) });
  return task({
    name: "http",
    schema: httpPayload,
    run: async (payload: HttpPayload, ctx): Promise<HttpResult> => {
      const nowMs = runtime.now();
      const options = { ...requestOf(payload, ctx, nowMs, webhookSecret), dispatcher: agent };
      const answer = await withTimeout(runtime, payload, ctx.signal, (signal) => send(payload, options, signal));
      return resultOf(payload, answer, runtime.now());
    },
  });
}

function resultOf(payload: HttpPayload, answer: Answer, nowMs: number): HttpResult {
  const { statusCode: status, headers: all } = answer.response;
  if (!isSuccess(answer.response)) throw failureOf(payload, answer, nowMs);
  const { "set-cookie": _, ...kept } = all;
  const headers = kept as HttpResult["headers"];
  const frame: HttpResult = { status, headers, body: "", encoding: "base64", truncated: false };
  // The frame already includes the quotes of the body and its longest words.
  return {
    ...frame,
    ...keptBody(answer.bytes, answer.isCut, RESULT_MAX_BYTES - Buffer.byteLength(JSON.stringify(frame))),
  };
}

function failureOf(payload: HttpPayload, { response, bytes, isCut }: Answer, nowMs: number): Error {
  const { statusCode: status, headers } = response;
  const { body, encoding } = keptBody(bytes, isCut, EXCERPT_MAX_BYTES);
  const excerpt = encoding === "base64" ? "" : body.trim();
  const hint = status >= 300 && status < 400 ? " (redirects are not followed)" : "";
  const message = `${nameOf(payload)} answered ${status}${hint}${excerpt && `: ${excerpt}`}`;
  if (!isRetried(status, payload)) return new TerminalError(message);
  const atMs = retryAtMs(headers["retry-after"], nowMs);
  return atMs === null ? new Error(message) : new RetryAtError(atMs, message);
}

async function withTimeout<T>(
  runtime: Runtime,
  payload: HttpPayload,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = new AbortController();
  const { timeoutSec = TIMEOUT_SEC } = payload;
  const late = new Error(`${nameOf(payload)} gave no whole answer within ${timeoutSec} s`);
  const timer = runtime.setTimer(timeoutSec * 1_000, () => timeout.abort(late));
  try {
    return await run(AbortSignal.any([signal, timeout.signal]));
  } finally {
    timer.cancel();
  }
}
