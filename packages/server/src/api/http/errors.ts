/**
 * Every kind of error of the API, in one closed list. The name is the last part of the problem's `type` and never
 * changes, because programs tell errors apart by it.
 */
const PROBLEMS = {
  "invalid-request": {
    status: 400,
    title: "The request is not as its schema says",
    help: "`errors` names each field that is wrong and says what would be right. /openapi.json has the schemas.",
  },
  "malformed-json": {
    status: 400,
    title: "The body is not JSON",
    help: "Send one JSON text in UTF-8, nested at most 128 levels deep.",
  },
  "invalid-cursor": {
    status: 400,
    title: "The cursor is not one of this list's",
    help: "Pass `nextCursor` of the page before, unchanged, to the same list; leave it out for the first page.",
  },
  "malformed-http": {
    status: 400,
    title: "This is not HTTP as the server understands it",
    help: "Send HTTP/1.1 with a Host header and a path that can be decoded.",
  },
  unauthorized: {
    status: 401,
    title: "The API key is missing or wrong",
    help: "Send `Authorization: Bearer <key>` with a key that the server knows (`mainspring keys list`), and that is neither revoked nor expired.",
  },
  forbidden: {
    status: 403,
    title: "The request came by a way that is not allowed",
    help: "Without an API key the server answers only to loopback names (localhost, 127.0.0.1, [::1]), and it never answers pages of other origins.",
  },
  "missing-scope": {
    status: 403,
    title: "The API key may not do this",
    help: "`detail` names the scope that the key lacks; /openapi.json has the scope of each operation as `x-scope`. GET /v1/me shows the scopes of the key.",
  },
  "tenant-suspended": {
    status: 403,
    title: "The tenant is suspended",
    help: "An operator has suspended the tenant (`mainspring tenants suspend`), or deletes it: submits are refused, and nothing starts. Reads go on.",
  },
  "pool-not-allowed": {
    status: 403,
    title: "The tenant may not use the pool",
    help: "Name one of the pools that an operator has allowed for the tenant (`mainspring tenants set --pool`).",
  },
  "not-found": {
    status: 404,
    title: "There is nothing here",
    help: "Compare the path with /openapi.json. Final executions are kept for MAINSPRING_RETENTION_DAYS.",
  },
  "method-not-allowed": {
    status: 405,
    title: "The path exists, but not with this method",
    help: "The header `Allow` names the methods that it has.",
  },
  "request-timeout": {
    status: 408,
    title: "The request took too long to arrive",
    help: "Send the whole request within a minute.",
  },
  "wrong-state": {
    status: 409,
    title: "Its state does not allow this",
    help: "`detail` names the state that it is in.",
  },
  "execution-final": {
    status: 409,
    title: "The execution has ended",
    help: "A signal reaches executions that are not final. A replay or a new run is another execution, with its own id.",
  },
  "signal-id-reused": {
    status: 409,
    title: "The id belongs to another signal",
    help: "An id may be repeated only with the same name and the same data, byte for byte. Take a new id for a new signal.",
  },
  "too-many-signals": {
    status: 409,
    title: "Too many signals wait for the execution",
    help: "At most 1000 signals with 4 MiB of data wait for steps of an execution. Send more when its handler has consumed some.",
  },
  "key-in-use": {
    status: 409,
    title: "The unique key is held",
    help: "At most one execution that is not final has a unique key. Wait for the one that has it, or cancel it.",
  },
  "name-in-use": {
    status: 409,
    title: "Another recurring job has the name",
    help: "The names of recurring jobs are unique. Choose another, or change the job that has it: PUT /v1/jobs/by-name/{name}.",
  },
  "backfill-open": {
    status: 409,
    title: "A backfill of the job has not ended",
    help: "A job has one at a time. GET /v1/jobs/{jobId} shows in `catchUps` how far it is.",
  },
  "events-off": {
    status: 409,
    title: "The servers keep no events",
    help: "Start every node of the cluster with MAINSPRING_EVENTS=api. Events of changes before that do not exist.",
  },
  "events-gone": {
    status: 410,
    title: "Events behind the position are no longer kept",
    help: "Events are kept for MAINSPRING_EVENTS_KEEP_MIN. Go on with after=oldest, and compare with GET /v1/executions, because events in between are lost to this reader.",
  },
  "precondition-failed": {
    status: 412,
    title: "It is of another version than If-Match says",
    help: "Somebody changed it meanwhile. Read it again and decide anew; its ETag is its version.",
  },
  "payload-too-large": {
    status: 413,
    title: "The body or a payload is too large",
    help: "A payload may have 1 MiB, a batch 32 MiB. Keep large data elsewhere and send where it is.",
  },
  "quota-never-fits": {
    status: 413,
    title: "The request is larger than a quota of the tenant ever allows",
    help: "Nothing was written, and a repeat is refused, too. `quota` names the setting of the tenant, `limit` what it allows, and `used` what the request needs. Divide the request, or ask an operator for more (`mainspring tenants set`).",
  },
  "unsupported-media-type": {
    status: 415,
    title: "The body is of another type than JSON, or encoded",
    help: "Send `Content-Type: application/json`, and no `Content-Encoding`.",
  },
  "expectation-failed": {
    status: 417,
    title: "The server does not do what Expect asks for",
    help: "Leave the header Expect out, or send `Expect: 100-continue`.",
  },
  "idempotency-key-reused": {
    status: 422,
    title: "The idempotency key belongs to another request",
    help: "A key may be repeated only with the same path and the same body, byte for byte. Take a new key for a new request.",
  },
  "query-unserved": {
    status: 422,
    title: "The store does not serve this query",
    help: "`detail` says what to ask instead. The store of another kind serves the query; a repeat does not help.",
  },
  "too-many-requests": {
    status: 429,
    title: "The server has as much to do as it takes on",
    help: "Nothing was changed. Try again after the seconds of `Retry-After`.",
  },
  "quota-exceeded": {
    status: 429,
    title: "A quota of the tenant is used up",
    help: "Nothing was written. `quota` names the setting of the tenant, `limit` what it allows, and `used` what is taken. Try again after the seconds of `Retry-After`, or ask an operator for more (`mainspring tenants set`).",
  },
  "headers-too-large": {
    status: 431,
    title: "The headers are too large",
    help: "All headers together may have 16 KiB.",
  },
  internal: {
    status: 500,
    title: "The server failed",
    help: "This is a bug of the server; its log has the cause. The request may or may not have taken effect.",
  },
  unavailable: {
    status: 503,
    title: "The store cannot be reached",
    help: "Try again after the seconds of `Retry-After`. A submit may or may not have been taken: repeat it with an Idempotency-Key.",
  },
  "list-timeout": {
    status: 503,
    title: "The list took too long",
    help: "The store is busy with other lists; other requests are served. Try again after the seconds of `Retry-After`, or ask for fewer rows by filters.",
  },
} as const satisfies Record<string, ProblemKind>;

interface ProblemKind {
  status: number;
  title: string;
  /** Advice for people. */
  help: string;
}

export type ProblemName = keyof typeof PROBLEMS;
export const PROBLEM_NAMES = Object.keys(PROBLEMS) as ProblemName[];

/** A fault at one place of a request. */
export interface FieldError {
  /**
   * Place of the fault, such as `target.requires[0]`; empty: the whole body. Headers and query parameters appear by
   * their name.
   */
  field: string;
  message: string;
  /** Position of the first wrong character, from 1, if the value is a text that was parsed. */
  position?: number;
}

/** Body of an error answer (RFC 9457). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail?: string;
  errors?: FieldError[];
}

/** Error that ends a request with a problem. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly problem: Problem;
  readonly headers: Readonly<Record<string, string>>;

  constructor(problem: Problem, headers: Readonly<Record<string, string>> = {}) {
    super(problem.detail ?? problem.title);
    this.problem = problem;
    this.headers = headers;
  }
}

/** @param detail description of this occurrence, and advice */
export function problem(name: ProblemName, detail?: string, errors?: FieldError[]): Problem {
  const { status, title } = PROBLEMS[name];
  return { type: typeOf(name), title, status, ...(detail !== undefined && { detail }), ...(errors && { errors }) };
}

/**
 * Problem for a request that does not match its schema. `detail` repeats the first error, for clients that read only
 * `detail`.
 */
export function invalid(errors: FieldError[]): Problem {
  const [first] = errors;
  const detail = first && (first.field === "" ? first.message : `${first.field}: ${first.message}`);
  return problem("invalid-request", detail, errors);
}

/** Problem that asks the client to try again later. */
export function busy(
  name: "too-many-requests" | "unavailable" | "list-timeout",
  detail: string,
  retryAfterSec: number,
): ProblemError {
  return new ProblemError(problem(name, detail), { "retry-after": String(retryAfterSec) });
}

/** Content of /problems/{name}; null: there is no such problem. */
export function describeProblem(name: string): (ProblemKind & { type: string }) | null {
  const kind = Object.hasOwn(PROBLEMS, name) ? PROBLEMS[name as ProblemName] : undefined;
  return kind === undefined ? null : { type: typeOf(name as ProblemName), ...kind };
}

function typeOf(name: ProblemName): string {
  return `/problems/${name}`;
}
