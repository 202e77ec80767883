import { Agent, request } from "undici";
import type { Runtime } from "../../ports/runtime.ts";
import type { WebhookPost } from "../../ports/webhook-post.ts";
import { AddressPolicy } from "./address-policy.ts";
import { AddressRefused, guardedConnector, type Lookup } from "./guarded-connector.ts";
import { reasonOf } from "./http-request.ts";
import { readBody } from "./kept-body.ts";
import { retryAtMs } from "./retry-after.ts";
import { webhookHeaders } from "./webhook-signature.ts";

/** Part of an answer that is read, in bytes. */
const EXCERPT_MAX_BYTES = 256;

export interface WebhookPostOptions {
  runtime: Pick<Runtime, "now">;
  /** CIDRs outside the public internet to which webhooks may go. */
  allowPrivate: readonly string[];
  /** Name resolution; default: the system's. */
  lookup?: Lookup;
}

/** Sends webhooks, guarded as the requests of the handler `http` are. */
export function webhookPost({ runtime, allowPrivate, lookup }: WebhookPostOptions): WebhookPost {
  const agent = new Agent({ connect: guardedConnector(new AddressPolicy(allowPrivate), lookup) });
  return async ({ url, id, body, secrets, signal }) => {
    const signed = webhookHeaders(secrets, id, Math.floor(runtime.now() / 1_000), body);
    const headers = { "user-agent": "mainspring", "content-type": "application/json", ...signed };
    // One timeout of the caller covers everything, so undici's own timeouts are off.
    const limits = { signal, headersTimeout: 0, bodyTimeout: 0, dispatcher: agent };
    try {
      const response = await request(url, { method: "POST", headers, body, ...limits });
      const { statusCode: status } = response;
      const { bytes } = await readBody(response.body, EXCERPT_MAX_BYTES);
      const excerpt = status >= 200 && status <= 299 ? "" : textOf(bytes);
      return { status, notBefore: retryAtMs(response.headers["retry-after"], runtime.now()), excerpt };
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof AddressRefused) throw cause;
      throw new Error(`no answer: ${reasonOf(cause)}`, { cause });
    }
  };
}

/** Text in one line. */
function textOf(bytes: Buffer): string {
  return bytes.toString("utf8").replaceAll(/\s+/g, " ").trim();
}

/**
 * Fault of the URL of a webhook, for people; null: none. The addresses of a name are only known, and checked, when a webhook is
 * sent.
 */
export function webhookUrlFault(text: string, policy: Pick<AddressPolicy, "refusal">): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol)) return "must be an http or https URL";
  if (url.username !== "" || url.password !== "") return "must not hold a user or password";
  const { hostname } = url;
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const isLocal = host === "localhost" || host.endsWith(".localhost");
  const kind = isLocal ? localRefusal(policy) : /^[\d.]+$|:/.test(host) ? policy.refusal(host) : null;
  if (kind === null) return null;
  return `must not lead to a ${kind} address: webhooks go there only if MAINSPRING_HTTP_ALLOW_PRIVATE says so`;
}

/** A name of this machine is allowed if one of its addresses is. */
function localRefusal(policy: Pick<AddressPolicy, "refusal">): string | null {
  return policy.refusal("127.0.0.1") === null ? null : policy.refusal("::1");
}
