import type { EpochMs } from "../../domain/ids.ts";
import { nextTryAt } from "../../domain/webhook.ts";
import { cleanText } from "../../ports/clean-text.ts";
import type { DeliveryResult, DueDelivery } from "../../ports/store-webhooks.ts";
import type { WebhookAnswer } from "../../ports/webhook-post.ts";

/** Longest kept reason of a failure, in characters. */
const ERROR_CHARS_MAX = 500;
/** Status by which a receiver says that it wants no more. */
const GONE = 410;

/**
 * Result of a try. Every answer but 2xx is a failure, redirects included.
 * @param random 0 to 1
 */
export function judgeAnswer(
  delivery: DueDelivery,
  answer: WebhookAnswer | Error,
  now: EpochMs,
  random: number,
): DeliveryResult {
  if (answer instanceof Error) return failed(delivery, { status: null, notBefore: null }, answer.message, now, random);
  const { status, excerpt } = answer;
  if (status >= 200 && status <= 299)
    return { delivery, state: "DELIVERED", nextAt: null, status, error: null, isGone: false };
  const hint = status >= 300 && status <= 399 ? " (redirects are not followed)" : "";
  return failed(delivery, answer, `it answered ${status}${hint}${excerpt === "" ? "" : `: ${excerpt}`}`, now, random);
}

function failed(
  delivery: DueDelivery,
  { status, notBefore }: { status: number | null; notBefore: EpochMs | null },
  reason: string,
  now: EpochMs,
  random: number,
): DeliveryResult {
  const isGone = status === GONE;
  const nextAt = isGone ? null : nextTryAt(delivery.tries + 1, now, random, notBefore);
  const error = cleanText(reason, ERROR_CHARS_MAX);
  return { delivery, state: nextAt === null ? "FAILED" : "PENDING", nextAt, status, error, isGone };
}
