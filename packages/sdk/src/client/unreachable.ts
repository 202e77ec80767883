import { MainspringError } from "../errors.ts";
import { printable } from "../printable.ts";
import type { Runtime } from "../runtime.ts";

const HINT = "is MAINSPRING_URL (or the option url) right";
/** Codes of failures that happen before a request is sent. */
const NEVER_SENT: readonly string[] = [
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
];
/** Time for which the client retries a request without a warning, in milliseconds. */
const WARN_AFTER_MS = 1_000;
/** Shortest time between two warnings of a client, in milliseconds. */
const WARN_EVERY_MS = 30_000;

/** Whether the request reached no server. @param cause error that `fetch` threw */
export function wasNeverSent(cause: unknown): boolean {
  return NEVER_SENT.includes(codeOf(cause));
}

/**
 * Creates the error for a request without an answer. @param isLate whether the client's time limit ended the request.
 * @param cause error that `fetch` threw
 */
export function unreachable(url: string, isLate: boolean, cause: unknown): MainspringError {
  const code = codeOf(cause);
  // The other side is no HTTP server, so a retry would fail as well.
  if (!isLate && (code === "HTTPParserError" || code.startsWith("HPE_")))
    return new MainspringError("UNEXPECTED_ANSWER", `${url} does not speak HTTP: ${HINT}? Workers have another port`, {
      cause,
    });
  return new MainspringError(
    "UNAVAILABLE",
    isLate ? `the server at ${url} did not answer in time` : whyNot(url, code, cause),
    { cause },
  );
}

function whyNot(url: string, code: string, cause: unknown): string {
  if (code === "ECONNREFUSED") return `connection refused at ${url}: ${HINT}, and is the server running?`;
  if (code === "ENOTFOUND") return `the host of ${url} is not known: ${HINT}?`;
  if (code === "CERT_HAS_EXPIRED")
    return `the certificate of ${url} has expired: the operator of the server must renew it, or the clock here is wrong`;
  if (wasNeverSent(cause)) return `no connection to ${url} (${code}): ${HINT}?`;
  return `the server at ${url} cannot be reached: ${code === "" ? messageOf(cause) : code}`;
}

/**
 * The platform's code of a failed `fetch`; empty: there is none. An answer that is not HTTP can have a name instead of
 * a code.
 */
function codeOf(cause: unknown): string {
  for (let error = cause; error instanceof Error; error = error.cause) {
    const { code, name } = error as NodeJS.ErrnoException;
    if (typeof code === "string") return code;
    if (name === "HTTPParserError") return name;
  }
  return "";
}

/** The message of the innermost cause, because the message of a failed `fetch` itself says nothing. */
function messageOf(cause: unknown): string {
  let message = String(cause);
  for (let error = cause; error instanceof Error; error = error.cause) message = error.message;
  return message;
}

/** Warns that requests are being retried. Without the warning, a program with a wrong URL would seem to hang. */
export class OutageWarning {
  readonly #runtime: Runtime;
  readonly #warn: (message: string) => void;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor({ runtime, warn }: { runtime: Runtime; warn(message: string): void }) {
    this.#runtime = runtime;
    this.#warn = warn;
  }

  /** @param elapsedMs time since the request failed first, in milliseconds */
  lasts(error: MainspringError, elapsedMs: number): void {
    const nowMs = this.#runtime.monotonicMs();
    if (elapsedMs < WARN_AFTER_MS || nowMs - this.#lastMs < WARN_EVERY_MS) return;
    this.#lastMs = nowMs;
    this.#warn(`${printable(error.message)}; the client repeats the request`);
  }
}
