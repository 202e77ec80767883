import type { JobSubmission } from "@mainspring/contract";
import type { FieldError } from "../http/errors.ts";

/** Webhooks that the server sends. */
export interface WebhookRules {
  /** Fault of a URL, for people; null: none. */
  urlFault(url: string): string | null;
  /** Whether the server has a secret that signs the webhooks of ends. */
  signsEnds: boolean;
  /** Whether the server tells subscriptions of events. */
  tellsSubscriptions: boolean;
  /** A new secret of Standard Webhooks. */
  newSecret(): string;
}

/** Faults of the `onFinish` of a job or workflow. @param rules undefined: the server sends no webhooks */
export function onFinishFaults({ onFinish }: Pick<JobSubmission, "onFinish">, rules?: WebhookRules): FieldError[] {
  if (onFinish === undefined) return [];
  if (rules === undefined || !rules.signsEnds) {
    const message =
      "needs a secret that signs the webhook: set MAINSPRING_WEBHOOK_SECRET on every server, or leave onFinish out";
    return [{ field: "onFinish", message }];
  }
  const fault = rules.urlFault(onFinish.url);
  return fault === null ? [] : [{ field: "onFinish.url", message: fault }];
}
