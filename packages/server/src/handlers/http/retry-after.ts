/** A server may send us away for so long and no longer. */
const AWAY_MAX_MS = 86_400_000;

/**
 * When a `Retry-After` wants the next request: seconds, or an HTTP date.
 * @returns null where it says nothing that delays it: then the job's backoff decides. At most a day from now.
 */
export function retryAtMs(header: unknown, nowMs: number): number | null {
  if (typeof header !== "string") return null;
  const text = header.trim();
  const atMs = /^\d{1,12}$/.test(text) ? nowMs + Number(text) * 1_000 : httpDateMs(text);
  // "At once" would leave out the backoff, and with it what keeps a herd apart.
  if (atMs === null || atMs <= nowMs) return null;
  return Math.min(atMs, nowMs + AWAY_MAX_MS);
}

function httpDateMs(text: string): number | null {
  if (!/^[A-Za-z]{3,9},? .*\d/.test(text)) return null;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? null : atMs;
}
