import type { ShardId } from "../../domain/ids.ts";
import { eventId, type LifecycleEvent } from "../../domain/lifecycle-event.ts";
import { BEFORE_ALL, type EventRow } from "../../ports/store-events.ts";
import type { KafkaMessage } from "./kafka-link.ts";

/** Bytes of a payload from which on a dead letter leaves it out: brokers take messages up to 1 MiB by default. */
export const LETTER_PAYLOAD_MAX = 512 * 1024;
/** Bytes of messages that are sent at once. One larger message is sent alone. */
const SEND_MAX = 512 * 1024;

/** Payload and error of a dead execution; null: the store does not have them any more, or there are none. */
export interface DeadDetails {
  /** JSON text in UTF-8. */
  payload: Uint8Array | null;
  error: { name: string; message: string } | null;
}

/** An event in the JSON format of CloudEvents, of which `data` is the last member. */
export type Encode = (event: LifecycleEvent) => object;

/** Headers that every message of a row has. */
function headersOf({ shard, epoch, seq }: EventRow): Record<string, string> {
  return { shard: String(shard), epoch: String(epoch), seq: String(seq) };
}

/** Message of an event. @param to topic and its number of partitions */
export function eventMessage(row: EventRow, event: LifecycleEvent, to: Target, encode: Encode): KafkaMessage {
  const { kind, tenant } = event;
  const headers = { id: eventId(event), kind, tenant, ...headersOf(row) };
  return { ...to.place(row.shard), value: JSON.stringify(encode(event)), headers };
}

/** Message of a dead execution: its event, with `payload`, `payloadBytes` and `error` in `data`. */
export function letterMessage(
  row: EventRow,
  event: LifecycleEvent,
  { payload, error }: DeadDetails,
  to: Target,
  encode: Encode,
): KafkaMessage {
  const message = eventMessage(row, event, to, encode);
  const isKept = payload !== null && payload.length <= LETTER_PAYLOAD_MAX;
  const text = isKept ? Buffer.from(payload).toString() : "null";
  const more = `"payload":${text},"payloadBytes":${payload?.length ?? 0},"error":${JSON.stringify(error)}`;
  // The payload goes in as the text that was submitted, because JSON.parse would change large numbers.
  return { ...message, value: `${message.value.slice(0, -2)},${more}}}` };
}

/** Message that tells of rows which the store has removed before they were sent. */
export function gapMessage(row: EventRow, to: Target): KafkaMessage {
  const { shard, epoch, seq, droppedAfter: after = BEFORE_ALL } = row;
  const id = `shard-${shard}/${epoch}-${seq}/EventsDropped`;
  const data = { shard, after, last: { epoch, seq } };
  const head = { specversion: "1.0", id, source: "/mainspring", type: "EventsDropped", subject: `shard-${shard}` };
  const value = JSON.stringify({ ...head, datacontenttype: "application/json", data });
  return { ...to.place(shard), value, headers: { id, kind: "EventsDropped", tenant: "", ...headersOf(row) } };
}

/** A topic whose partition and key come from the shard. */
export class Target {
  readonly #topic: string;
  readonly #partitions: number;

  constructor(topic: string, partitions: number) {
    this.#topic = topic;
    this.#partitions = partitions;
  }

  place(shard: ShardId): Pick<KafkaMessage, "topic" | "partition" | "key"> {
    return { topic: this.#topic, partition: shard % this.#partitions, key: String(shard) };
  }
}

/** Messages in portions that are sent one after the other. */
export function portions(messages: readonly KafkaMessage[]): KafkaMessage[][] {
  const all: KafkaMessage[][] = [];
  let size = 0;
  for (const message of messages) {
    // The headers are small; their allowance is generous.
    const own = Buffer.byteLength(message.value) + 300;
    const last = all.at(-1);
    if (last === undefined || size + own > SEND_MAX) {
      all.push([message]);
      size = own;
    } else {
      last.push(message);
      size += own;
    }
  }
  return all;
}
