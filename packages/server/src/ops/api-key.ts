import { createHash, timingSafeEqual } from "node:crypto";

const BEARER = /^Bearer +(\S+)$/i;

/** Judges the value of an `Authorization` header. */
export type IsAuthorized = (authorization: string | undefined) => boolean;

/** Whether a caller sent the key; everybody may come where there is none. Compares in a time that tells nothing. */
export function authorizes(apiKey: string | null): IsAuthorized {
  if (apiKey === null) return () => true;
  // Digests are of one length, whatever was sent.
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const expected = digest(apiKey);
  return (authorization) => timingSafeEqual(digest(BEARER.exec(authorization ?? "")?.[1] ?? ""), expected);
}
