import type { EpochMs, ShardId } from "../../../domain/ids.ts";
import type { LifecycleEvent } from "../../../domain/lifecycle-event.ts";
import type { DeliveryState, NewDelivery, WebhookId } from "../../../domain/webhook.ts";
import type { Delivery, DeliveryResult } from "../../../ports/store-webhooks.ts";

/** Codes of states, as records have them. */
const CODES: Readonly<Record<DeliveryState, string>> = { PENDING: "P", DELIVERED: "D", FAILED: "F" };

/** Part of a delivery that never changes. */
interface Constant {
  tenant: string;
  url: string;
  event: LifecycleEvent;
  createdAt: EpochMs;
}

export function constantText({ url, event }: NewDelivery, createdAt: EpochMs): string {
  return JSON.stringify({ tenant: event.tenant, url, event, createdAt } satisfies Constant);
}

export function constantOf(text: Buffer): Constant {
  return JSON.parse(String(text)) as Constant;
}

export function codeOf(state: DeliveryState): string {
  return CODES[state];
}

/** Tries, code, next try and rest of a state, as `ms_settle_deliveries` takes them. */
export function resultArguments(result: DeliveryResult, now: EpochMs): string[] {
  const { delivery, state, nextAt, status, error } = result;
  const rest = `${now} ${status ?? "-"} ${error ?? ""}`;
  return [`${delivery.tries}`, codeOf(state), nextAt === null ? "-" : `${nextAt}`, rest];
}

/** State of a delivery, as its text has it. */
export function stateOf(
  text: Buffer,
): Pick<Delivery, "state" | "tries" | "nextAt" | "triedAt" | "status" | "error"> & { shard: ShardId } {
  const [code, tries, shard, nextAt, triedAt, status, ...error] = String(text).split(" ");
  const state = (Object.keys(CODES) as DeliveryState[]).find((name) => CODES[name] === code) as DeliveryState;
  const message = error.join(" ");
  return {
    ...{ state, tries: Number(tries), shard: Number(shard) },
    ...{ nextAt: numberOf(nextAt), triedAt: numberOf(triedAt), status: numberOf(status) },
    error: message === "" ? null : message,
  };
}

function numberOf(text: string | undefined): number | null {
  return text === undefined || text === "-" ? null : Number(text);
}

export function deliveryOf(webhook: WebhookId, id: string, constant: Buffer, state: Buffer): Delivery {
  const { url, event, createdAt } = constantOf(constant);
  const { shard: _, ...own } = stateOf(state);
  return { id, webhook, url, event, createdAt, ...own };
}
