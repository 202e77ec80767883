import { tenant } from "../state/route.ts";
import { TEXTS } from "../texts.ts";
import { parseExactly } from "./exact-json.ts";

/** Body of an error answer (RFC 9457). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail?: string;
  errors?: { field: string; message: string }[];
}

/** A request that failed, with the problem that the server named. */
export class RequestFailed extends Error {
  override readonly name = "RequestFailed";
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail ?? problem.title);
    this.problem = problem;
  }
}

export interface Asked {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  body?: unknown;
  /** Body as JSON text, in place of `body`, where numbers must keep their digits. */
  text?: string;
  /** Version that the object must have. */
  ifVersion?: number;
  /** Age that the answer may have, in milliseconds: the server may give the answer of another client. Default: 0 */
  maxAgeMs?: number;
  signal?: AbortSignal;
}

/** Called when the server wants a credential. */
let onUnauthorized = () => {};

export function whenUnauthorized(tell: () => void): void {
  onUnauthorized = tell;
}

/** Address of an operation. The page is at PREFIX/console/, and the API beside it. */
function addressOf(path: string): URL {
  return new URL(`../v1/${path}`, document.baseURI);
}

/** Sends a request. @throws {RequestFailed} the server refused it, or did not answer */
export async function ask<T>(path: string, asked: Asked = {}): Promise<T> {
  return answerOf(await askText(path, asked));
}

/** Parses the text of an answer. An empty one is null. */
export function answerOf<T>(text: string): T {
  return (text === "" ? null : parseExactly(text)) as T;
}

/** Sends a request. @returns text of the answer. @throws {RequestFailed} the server refused it, or did not answer */
export async function askText(
  path: string,
  { method = "GET", body, text, ifVersion, maxAgeMs = 0, signal }: Asked = {},
): Promise<string> {
  const sent = text ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await send(path, {
    method,
    headers: {
      ...headersOf(sent !== undefined),
      ...(ifVersion !== undefined && { "if-match": `"${ifVersion}"` }),
      ...(maxAgeMs >= 1_000 && { "cache-control": `max-age=${Math.floor(maxAgeMs / 1_000)}` }),
    },
    ...(sent !== undefined && { body: sent }),
    ...(signal !== undefined && { signal }),
  });
  return response.text();
}

/** @throws {RequestFailed} */
export async function send(path: string, request: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(addressOf(path), request);
  } catch (error) {
    if (request.signal?.aborted === true) throw error;
    throw new RequestFailed({ type: "", title: TEXTS.noAnswer, status: 0, detail: TEXTS.noAnswerHelp });
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (response.status === 401 && path !== "session") onUnauthorized();
  throw new RequestFailed(problem);
}

async function problemOf(response: Response): Promise<Problem> {
  const { status, statusText } = response;
  const text = await response.text().catch(() => "");
  try {
    const body = JSON.parse(text) as Problem;
    if (typeof body.title === "string") return body;
  } catch {
    // A proxy has answered instead of the server.
  }
  return { type: "", title: `${status} ${statusText}`, status, detail: TEXTS.notOurAnswer };
}

export function headersOf(hasBody: boolean): Record<string, string> {
  return {
    accept: "application/json",
    ...(hasBody && { "content-type": "application/json" }),
    ...(tenant.value !== undefined && { "mainspring-tenant": tenant.value }),
  };
}

/** Query of an address, without fields that have no value. */
export function queryOf(fields: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === "" ? "" : `?${text}`;
}
