import type { Logger } from "pino";
import type { Epoch, ShardId } from "../../domain/ids.ts";
import { eventId, type LifecycleEvent } from "../../domain/lifecycle-event.ts";
import { originOf, type WebhookId } from "../../domain/webhook.ts";
import type { Readings } from "../../ports/metrics.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { DeliveryResult, DueDelivery, StoreWebhooks, Webhook } from "../../ports/store-webhooks.ts";
import type { WebhookAnswer, WebhookPost } from "../../ports/webhook-post.ts";
import { EACH_MAX, Flights } from "./flights.ts";
import { judgeAnswer } from "./judge-answer.ts";

const READ_EVERY_MS = 5_000;
/** Shortest interval in ms of two reads. */
const READ_AGAIN_MS = 20;
/** Wait in ms after the store failed. */
const STORE_WAIT_MS = 1_000;
/** Time in ms that a receiver has for its whole answer. */
export const ANSWER_WITHIN_MS = 15_000;
/** Time in ms that deliveries under way have when the node stops. */
const FINISH_WITHIN_MS = 2_000;
/** Numbers of webhooks, and of deliveries of each, that one read brings: more than may be under way already. */
const PAGE = { webhooks: 200, each: 2 * EACH_MAX } as const;

export interface WebhookSenderDependencies {
  store: Pick<StoreWebhooks, "readDue" | "settle">;
  post: WebhookPost;
  /** Shards that the node owns now, with their epochs. */
  owned: () => ReadonlyMap<ShardId, Epoch>;
  /** Secrets that sign the webhooks of ends; empty: there are none, and no such webhook is sent. */
  secrets: readonly string[];
  /** Time in ms without a delivery after which a webhook is disabled. */
  disableAfterMs: number;
  /** Body of the webhook of an event. */
  encode: (event: LifecycleEvent) => unknown;
  /** Longest interval in ms of two reads: deliveries of an owner before this one, and replays, wait, too; default: 5,000. */
  readEveryMs?: number;
  runtime: Runtime;
  log: Logger;
}

/**
 * Sends the deliveries of the node's shards that are due. A delivery stays in the store until its result is kept, so a crash
 * repeats it and never loses it.
 */
export class WebhookSender {
  readonly #deps: WebhookSenderDependencies;
  readonly #readEveryMs: number;
  readonly #flights = new Flights();
  readonly #stopping = new AbortController();
  #after: WebhookId | null = null;
  #timer: Timer | null = null;
  /** Time of the next read on the monotonic clock, while a timer is set. */
  #dueMs = 0;
  #isReading = false;
  #isWoken = false;
  /** Whether the last read left deliveries that may be due. */
  #isMore = false;
  #isDown = false;
  #isStopped = false;
  #results: DeliveryResult[] = [];
  #settling: Promise<void> | null = null;
  #sends = new Set<Promise<void>>();
  readonly #tries = new Map<string, number>([
    ["DELIVERED", 0],
    ["RETRIED", 0],
    ["FAILED", 0],
  ]);
  #disabled = 0;

  constructor(deps: WebhookSenderDependencies) {
    this.#deps = deps;
    this.#readEveryMs = deps.readEveryMs ?? READ_EVERY_MS;
  }

  start(): void {
    this.#schedule(0);
  }

  /** Deliveries were written. */
  readonly wake = (): void => {
    if (this.#isReading) this.#isWoken = true;
    else if (!this.#isDown) this.#schedule(READ_AGAIN_MS);
  };

  /** Ends all deliveries. One without an answer is sent again by the next owner of its shard. */
  async stop(): Promise<void> {
    const { runtime } = this.#deps;
    this.#isStopped = true;
    this.#timer?.cancel();
    if (this.#sends.size > 0) {
      const late = new Promise<void>((resolve) => runtime.setTimer(FINISH_WITHIN_MS, resolve));
      await Promise.race([Promise.all(this.#sends), late]);
    }
    this.#stopping.abort(new Error("the node stops"));
    await Promise.all(this.#sends);
  }

  readings(): Readings {
    return { webhookTries: this.#tries, webhooksDisabled: this.#disabled, webhooksUnderWay: this.#flights.size };
  }

  #schedule(afterMs: number): void {
    if (this.#isStopped) return;
    const { runtime } = this.#deps;
    const dueMs = runtime.monotonicMs() + afterMs;
    if (this.#timer !== null && this.#dueMs <= dueMs) return;
    this.#timer?.cancel();
    this.#dueMs = dueMs;
    this.#timer = runtime.setTimer(afterMs, () => {
      this.#timer = null;
      void this.#round();
    });
  }

  async #round(): Promise<void> {
    if (this.#isStopped) return;
    if (this.#isReading) {
      this.#isWoken = true;
      return;
    }
    this.#isReading = true;
    this.#isWoken = false;
    const waitMs = await this.#read();
    this.#isReading = false;
    this.#schedule(this.#isWoken && !this.#isDown ? READ_AGAIN_MS : waitMs);
  }

  /** @returns time in ms until the next read */
  async #read(): Promise<number> {
    const { store, owned, runtime, log } = this.#deps;
    const shards = [...owned().keys()];
    if (shards.length === 0) return this.#readEveryMs;
    try {
      const without = this.#flights.busy;
      const asked = { shards, now: runtime.now(), after: this.#after, ...PAGE, without };
      const { due, next } = await store.readDue(asked);
      if (this.#isStopped) return 0;
      this.#isDown = false;
      this.#after = next;
      const sent = due.filter((delivery) => this.#begin(delivery));
      this.#isMore = without.size > 0 || sent.length < due.length || isFull(due);
      return next === null ? this.#readEveryMs : READ_AGAIN_MS;
    } catch (error) {
      if (!this.#isDown) log.warn({ err: error }, "webhooks: due deliveries could not be read, retrying every second");
      this.#isDown = true;
      return STORE_WAIT_MS;
    }
  }

  #begin(delivery: DueDelivery): boolean {
    if (!this.#flights.take(delivery)) return false;
    const send = this.#send(delivery).finally(() => this.#sends.delete(send));
    this.#sends.add(send);
    return true;
  }

  /** Sends a delivery, and keeps its place until the result is in the store. */
  async #send(delivery: DueDelivery): Promise<void> {
    const { runtime } = this.#deps;
    const answer = await this.#answerOf(delivery);
    if (this.#stopping.signal.aborted) return;
    const result = judgeAnswer(delivery, answer, runtime.now(), runtime.random());
    this.#flights.tell(delivery.webhook, result.state === "DELIVERED");
    this.#results.push(result);
    this.#settling ??= this.#settle();
    await this.#settling;
  }

  async #answerOf({ kind, url, event, secrets: own }: DueDelivery): Promise<WebhookAnswer | Error> {
    const { post, encode, runtime } = this.#deps;
    const secrets = kind === "ON_FINISH" ? this.#deps.secrets : own;
    if (secrets.length === 0) return new Error("the server has no MAINSPRING_WEBHOOK_SECRET to sign it");
    const late = new AbortController();
    const timer = runtime.setTimer(ANSWER_WITHIN_MS, () =>
      late.abort(new Error(`there was no whole answer within ${ANSWER_WITHIN_MS / 1_000} s`)),
    );
    const signal = AbortSignal.any([late.signal, this.#stopping.signal]);
    try {
      return await post({ url, id: eventId(event), body: JSON.stringify(encode(event)), secrets, signal });
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    } finally {
      timer.cancel();
    }
  }

  /** Keeps all results there are, as long as there are some. */
  async #settle(): Promise<void> {
    // Results of the same turn are kept together.
    await Promise.resolve();
    const { store, runtime, log, disableAfterMs } = this.#deps;
    while (this.#results.length > 0) {
      const results = this.#results;
      this.#results = [];
      try {
        this.#disable(await store.settle(results, runtime.now(), disableAfterMs));
        this.#count(results);
        for (const { delivery } of results) this.#flights.leave(delivery);
      } catch (error) {
        if (this.#isStopped) break;
        log.warn({ err: error }, "webhooks: results of deliveries could not be kept, retrying in a second");
        this.#results = [...results, ...this.#results];
        await new Promise<void>((resolve) => runtime.setTimer(STORE_WAIT_MS, resolve));
      }
    }
    this.#settling = null;
    if (this.#isMore) this.#schedule(READ_AGAIN_MS);
  }

  #count(results: readonly DeliveryResult[]): void {
    const { log, runtime } = this.#deps;
    const lost = new Map<string, number>();
    for (const { state, nextAt, delivery } of results) {
      const outcome = state === "PENDING" ? "RETRIED" : state;
      this.#tries.set(outcome, (this.#tries.get(outcome) ?? 0) + 1);
      if (state === "FAILED") lost.set(delivery.webhook, (lost.get(delivery.webhook) ?? 0) + 1);
      if (nextAt !== null) this.#schedule(Math.max(READ_AGAIN_MS, Math.min(nextAt - runtime.now(), this.#readEveryMs)));
    }
    for (const [webhook, deliveries] of lost)
      log.warn(
        { webhook, deliveries },
        "webhooks: deliveries FAILED and are not tried again; a replay sends them again",
      );
  }

  #disable(webhooks: readonly Webhook[]): void {
    for (const { id, url, kind, disabledReason: reason, lastError } of webhooks) {
      this.#disabled++;
      const told = { webhook: id, kind, receiver: originOf(url), reason, lastError };
      this.#deps.log.error(told, "webhooks: the webhook is disabled; its deliveries wait until it is enabled");
    }
  }
}

/** Whether a read may have left deliveries of a webhook. */
function isFull(due: readonly DueDelivery[]): boolean {
  const counts = new Map<WebhookId, number>();
  for (const { webhook } of due) counts.set(webhook, (counts.get(webhook) ?? 0) + 1);
  return [...counts.values()].some((count) => count >= PAGE.each);
}
