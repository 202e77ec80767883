/** Longest delay that a server may ask for, in milliseconds. */
const AWAY_MAX_MS = 86_400_000;

/**
 * Time that a `Retry-After` header (seconds, or an HTTP date) gives for the next request, at most a day from now.
 * @returns milliseconds since 1970; null: the header demands no delay, so the job's backoff decides
 */
export function retryAtMs(header: unknown, nowMs: number): number | null {
  if (typeof header !== "string") return null;
  const text = header.trim();
  const atMs = /^\d{1,12}$/.test(text) ? nowMs + Number(text) * 1_000 : httpDateMs(text);
  // An immediate retry would skip the backoff, which keeps clients from retrying all at once.
  if (atMs === null || atMs <= nowMs) return null;
  return Math.min(atMs, nowMs + AWAY_MAX_MS);
}

function httpDateMs(text: string): number | null {
  if (!/^[A-Za-z]{3,9},? .*\d/.test(text)) return null;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? null : atMs;
}
