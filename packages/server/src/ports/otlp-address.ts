/** Receiver of the OpenTelemetry protocol (OTLP), as MAINSPRING_OTLP and MAINSPRING_OTLP_HEADERS name it. */
export interface OtlpAddress {
  /** Base URL without a slash at its end; requests go to `/v1/traces` and `/v1/metrics` below it. It has no secrets. */
  url: string;
  /** Headers of every request, by their names in lower case; they may be secrets. */
  headers: Readonly<Record<string, string>>;
}

/** Form of MAINSPRING_OTLP, for messages. */
export const OTLP_URL = "the base URL of a receiver, as http://collector:4318, without a user and without /v1/traces";
/** Form of MAINSPRING_OTLP_HEADERS, for messages. */
export const OTLP_HEADERS =
  "a list with commas of name=value, the values percent-encoded, as authorization=Bearer%20secret";

/** Headers that the requests set by themselves. */
const OWN_HEADERS = ["content-encoding", "content-length", "content-type", "host"];
const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]{1,256}$/;
const HEADER_VALUE = /^[\t\x20-\x7e]{0,8192}$/;
const HEADERS_MAX = 32;

/** @returns null: the text is no base URL */
export function otlpUrl(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "") return null;
  const path = url.pathname.replace(/\/+$/, "");
  if (url.username !== "" || url.password !== "" || /\/v1\/(traces|metrics)$/.test(path)) return null;
  return url.origin + path;
}

/** @returns null: the text is no list of headers. Its parts may be secrets. */
export function otlpHeaders(text: string): Readonly<Record<string, string>> | null {
  const parts = text.split(",").flatMap((part) => part.trim() || []);
  const headers = new Map<string, string>();
  for (const part of parts) {
    const [name = "", ...rest] = part.split("=");
    const key = name.trim().toLowerCase();
    const value = decoded(rest.join("=").trim());
    const isGood = rest.length > 0 && HEADER_NAME.test(key) && value !== null && HEADER_VALUE.test(value);
    if (!isGood || OWN_HEADERS.includes(key) || headers.has(key)) return null;
    headers.set(key, value);
  }
  return headers.size > HEADERS_MAX ? null : Object.fromEntries(headers);
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
