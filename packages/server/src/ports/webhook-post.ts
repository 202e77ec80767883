import type { EpochMs } from "../domain/ids.ts";

/** A webhook as it is sent. */
export interface WebhookRequest {
  url: string;
  /** Id that is the same in every try. */
  id: string;
  body: string;
  /** Secrets of Standard Webhooks, 1 or more; the request has a signature by each. */
  secrets: readonly string[];
  signal: AbortSignal;
}

export interface WebhookAnswer {
  status: number;
  /** Time before which the receiver wants no other request; null: it names none. */
  notBefore: EpochMs | null;
  /** First characters of the body of an answer that is no success; "": none. */
  excerpt: string;
}

/**
 * Sends a webhook to an address of the public internet, or one that the configuration allows, and follows no redirect.
 * @throws {Error} there was no answer; the message has neither path nor query of the URL
 */
export type WebhookPost = (request: WebhookRequest) => Promise<WebhookAnswer>;
