import { MainspringError } from "../errors.ts";
import type { Runtime } from "../runtime.ts";
import type { ApiKeyOption } from "./api-key.ts";

export interface ClientOptions {
  /** URL of the server. Default: the environment variable MAINSPRING_URL, or http://127.0.0.1:8080. */
  url?: string;
  /**
   * API key, which the client sends as a bearer token, or a function that tells it. Default: the content of the file that the
   * environment variable MAINSPRING_API_KEY_FILE names, or MAINSPRING_API_KEY; without a key the client sends no token. A key from
   * a function or a file is read again when the server refuses it, and one from a file also when the file changes.
   */
  apiKey?: ApiKeyOption;
  /**
   * Tenant for which an operator acts. A key without the scope `tenants:act` is refused if the client names one. Default: the tenant of
   * the key.
   */
  tenant?: string;
  /**
   * Time for which the client retries a request, in milliseconds from the first failure; 0 to 3_600_000, default
   * 30_000. The client retries only where a repeat is safe. The waits grow to 5 seconds, with jitter. An answer that
   * says that the request is wrong ends the retries at once.
   */
  retryForMs?: number;
  /** Largest number of retries of one request; 0 to 20, default: as many as `retryForMs` allows. */
  retries?: number;
  /** Time limit of one answer, in milliseconds; default 30_000. */
  timeoutMs?: number;
  /** Implementation of fetch; default: the platform's. */
  fetch?: typeof fetch;
  runtime?: Runtime;
  /**
   * Called with a message when requests have been failing for a second or more, once in 30 seconds at most. Default:
   * writes to standard error.
   */
  warn?(message: string): void;
}

/** @throws {MainspringError} BAD_OPTION */
export function urlOf(text: string): string {
  const url = /^https?:\/\//.test(text) ? URL.parse(text) : null;
  if (url !== null && url.username + url.password + url.search + url.hash === "") return url.href.replace(/\/+$/, "");
  const shown = text.includes("@") ? "what was given, which may hold a password," : `"${text}"`;
  throw new MainspringError("BAD_OPTION", `url: ${shown} is not a plain http(s) URL, as http://127.0.0.1:8080 is`);
}

/** @throws {MainspringError} BAD_OPTION */
export function wholeOf(option: string, value: number, max: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= max) return value;
  throw new MainspringError("BAD_OPTION", `${option}: must be a whole number from 0 to ${max}, not ${value}`);
}
