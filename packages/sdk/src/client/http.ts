import { MainspringError } from "../errors.ts";
import { type Runtime, sleep } from "../runtime.ts";
import type { ApiKeySource } from "./api-key.ts";
import { headerValue } from "./headers.ts";
import { errorOf } from "./problem.ts";
import { type RepeatLimits, repeatInMs } from "./repeats.ts";
import { OutageWarning, unreachable, wasNeverSent } from "./unreachable.ts";

export interface HttpOptions {
  /** Base URL of the server, without a slash at its end. A path in the URL precedes the path of every request. */
  url: string;
  apiKey: ApiKeySource;
  /** Tenant that the header Mainspring-Tenant names; undefined: none. */
  tenant?: string | undefined;
  /** Limits of the retries of one request. */
  repeats: RepeatLimits;
  /** Time limit of one answer, in milliseconds; the time for which a request asks the server to wait is added. */
  timeoutMs: number;
  fetch: typeof fetch;
  runtime: Runtime;
  /** Called with a message for the people who run the program. */
  warn(message: string): void;
}

export interface HttpRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path with its query, from `/v1` on. */
  path: string;
  body?: unknown;
  /** Body as JSON text, instead of `body`. */
  text?: string;
  idempotencyKey?: string | undefined;
  /** Headers of this request, in addition to those of every request. */
  headers?: Readonly<Record<string, string>>;
  /**
   * Whether two arrivals of the request have the same effect as one. A request with an idempotency key always is
   * idempotent.
   */
  idempotent: boolean;
  /** Time for which the request asks the server to hold back its answer, in milliseconds; absent: none. */
  waitMs?: number;
  /** Form of the answer's body; default: json. */
  answer?: "json" | "text";
  signal?: AbortSignal | undefined;
}

/** A request whose body is JSON text. */
type PreparedRequest = Omit<HttpRequest, "body" | "text"> & { body: string | undefined };

export interface HttpAnswer {
  status: number;
  body: unknown;
}

/** Sends requests with fetch, retries them where that is safe, and throws errors as `MainspringError`. */
export class Http {
  readonly #options: HttpOptions;
  readonly #outage: OutageWarning;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#outage = new OutageWarning(options);
  }

  /** @throws {MainspringError} for every answer that is not 2xx; UNAVAILABLE if no server answered */
  async send(request: HttpRequest): Promise<HttpAnswer> {
    const { runtime, repeats } = this.#options;
    const { text, ...rest } = request;
    const prepared = { ...rest, body: text ?? jsonOf(request.body) };
    let awaySinceMs: number | null = null;
    for (let failures = 1; ; failures++) {
      const outcome = await this.#once(prepared);
      if ("status" in outcome) return outcome;
      const { error, retryAfterMs = null } = outcome;
      awaySinceMs ??= runtime.monotonicMs();
      const elapsedMs = runtime.monotonicMs() - awaySinceMs;
      const failed = { failures, elapsedMs, retryAfterMs, random: runtime.random() };
      const waitMs = mayRepeat(request, error) ? repeatInMs(repeats, failed) : null;
      if (waitMs === null) throw error;
      this.#outage.lasts(error, elapsedMs);
      await sleep(runtime, waitMs, request.signal);
      request.signal?.throwIfAborted();
    }
  }

  /**
   * Opens a stream of server-sent events. The time limit applies only until the stream begins.
   * @returns the body; null: the server has nothing more to stream
   * @throws {MainspringError}
   */
  async open(
    path: string,
    headers: Record<string, string>,
    signal: AbortSignal | undefined,
  ): Promise<AsyncIterable<Uint8Array> | null> {
    const { runtime, timeoutMs, url } = this.#options;
    const limit = new AbortController();
    const timer = runtime.setTimer(timeoutMs, () => limit.abort());
    try {
      const asked = { method: "GET", path, idempotent: true, body: undefined, signal } as const;
      const accept = "text/event-stream, application/problem+json";
      const response = await this.#fetch({ ...asked, headers: { ...headers, accept } }, limit.signal);
      if (!response.ok) throw await errorOf(response);
      return response.status === 204 ? null : (response.body ?? null);
    } catch (cause) {
      signal?.throwIfAborted();
      throw cause instanceof MainspringError ? cause : unreachable(url, limit.signal.aborted, cause);
    } finally {
      timer.cancel();
    }
  }

  async #once(request: PreparedRequest): Promise<HttpAnswer | { error: MainspringError; retryAfterMs?: number }> {
    const { runtime, timeoutMs, url } = this.#options;
    const limit = new AbortController();
    const timer = runtime.setTimer(timeoutMs + (request.waitMs ?? 0), () => limit.abort());
    try {
      const response = await this.#fetch(request, limit.signal);
      if (response.ok) return { status: response.status, body: await bodyOf(response, request.answer) };
      const retryAfterMs = retryAfterOf(response, runtime.now());
      return { error: await errorOf(response), ...(retryAfterMs !== null && { retryAfterMs }) };
    } catch (cause) {
      request.signal?.throwIfAborted();
      if (cause instanceof MainspringError) return { error: cause };
      return { error: unreachable(url, limit.signal.aborted, cause) };
    } finally {
      timer.cancel();
    }
  }

  /** Sends a request, and once more if the server has refused a key that was replaced meanwhile. */
  async #fetch(request: PreparedRequest, limit: AbortSignal): Promise<Response> {
    const { apiKey, url, tenant } = this.#options;
    const sent = await apiKey.current();
    const response = await this.#options.fetch(url + request.path, initOf(request, sent, tenant, limit));
    if (response.status !== 401 || !(await apiKey.refused(sent))) return response;
    await response.body?.cancel();
    return await this.#options.fetch(url + request.path, initOf(request, await apiKey.current(), tenant, limit));
  }
}

function initOf(
  request: PreparedRequest,
  apiKey: string | null,
  tenant: string | undefined,
  limit: AbortSignal,
): RequestInit {
  const headers: Record<string, string> = {
    accept: "application/json, application/problem+json",
    ...request.headers,
  };
  if (apiKey !== null) headers.authorization = `Bearer ${apiKey}`;
  if (tenant !== undefined) headers["mainspring-tenant"] = headerValue("tenant", tenant);
  if (request.idempotencyKey !== undefined)
    headers["idempotency-key"] = headerValue("idempotencyKey", request.idempotencyKey);
  const signal = request.signal === undefined ? limit : AbortSignal.any([limit, request.signal]);
  if (request.body === undefined) return { method: request.method, headers, signal };
  headers["content-type"] = "application/json";
  return { method: request.method, headers, signal, body: request.body };
}

/**
 * Serializes the body before the request is sent, so that a value that JSON cannot express is not reported as an
 * unreachable server.
 */
export function jsonOf(body: unknown): string | undefined {
  try {
    return JSON.stringify(body);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MainspringError("INVALID_PAYLOAD", `the request cannot be written as JSON: ${why}`, { cause });
  }
}

/**
 * Any request may be retried after a 429 or when it reached no server, because nothing has changed. After another
 * failure the effect is unknown, so only an idempotent request may be retried.
 */
function mayRepeat(request: HttpRequest, error: MainspringError): boolean {
  if (error.code === "TOO_MANY_REQUESTS") return true;
  if (error.code !== "UNAVAILABLE") return false;
  return request.idempotent || request.idempotencyKey !== undefined || wasNeverSent(error.cause);
}

function retryAfterOf(response: Response, nowMs: number): number | null {
  const header = response.headers.get("retry-after");
  if (header === null) return null;
  const waitMs = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return Number.isNaN(waitMs) ? null : Math.max(0, waitMs);
}

async function bodyOf(response: Response, form: HttpRequest["answer"]): Promise<unknown> {
  const text = await response.text();
  if (form === "text") return text;
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message = `${response.url} answered with something that is not JSON: is it a Mainspring server, and is MAINSPRING_URL (or the option url) right?`;
    throw new MainspringError("UNEXPECTED_ANSWER", message, { cause });
  }
}
