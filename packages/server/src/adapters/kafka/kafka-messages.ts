import type { ExecutionError } from "../../domain/execution.ts";
import type { ShardId } from "../../domain/ids.ts";
import { eventId, type LifecycleEvent } from "../../domain/lifecycle-event.ts";
import { BEFORE_ALL, type EventRef, type EventRow } from "../../ports/store-events.ts";
import type { KafkaMessage } from "./kafka-link.ts";

/** Bytes of a payload from which on a dead letter leaves it out: brokers take messages up to 1 MiB by default. */
export const LETTER_PAYLOAD_MAX = 512 * 1024;
/** Largest number of bytes of a UTF-16 unit in UTF-8. */
const UTF8_MAX = 3;
/** Bytes of messages that are sent at once. One larger message is sent alone. */
const SEND_MAX = 512 * 1024;

/** Payload and error of a dead execution; null: the store does not have them any more, or there are none. */
export interface DeadDetails {
  /** JSON text in UTF-8. */
  payload: Uint8Array | null;
  error: ExecutionError | null;
}

/** A value of a message, with the headers by which consumers recognise its format. */
export interface Encoded {
  value: Buffer;
  headers: Record<string, string>;
}

/** Payload and error as a dead letter has them. */
export interface Letter extends DeadDetails {
  /** Size of the payload, also where it is left out. */
  payloadBytes: number;
}

/** Rows of a shard that the store has removed before they were sent: those behind `after` up to and including `last`. */
export interface Gap {
  id: string;
  shard: ShardId;
  after: EventRef;
  last: EventRef;
}

/** Format of the values of messages. */
export interface Encoding {
  /** @param letter null: the message is that of the topic of events */
  event(event: LifecycleEvent, letter: Letter | null): Encoded;
  gap(gap: Gap): Encoded;
}

/** Kind of the message that tells a gap. */
export const GAP_KIND = "EventsDropped";

/** Headers that every message of a row has. */
function headersOf({ shard, epoch, seq }: EventRow): Record<string, string> {
  return { shard: String(shard), epoch: String(epoch), seq: String(seq) };
}

/** Message of an event. @param to topic and its number of partitions */
export function eventMessage(
  row: EventRow,
  event: LifecycleEvent,
  to: Target,
  encoding: Encoding,
  letter: Letter | null = null,
): KafkaMessage {
  const { kind, tenant } = event;
  const { value, headers } = encoding.event(event, letter);
  return {
    ...to.place(row.shard),
    value,
    headers: { id: eventId(event), kind, tenant, ...headersOf(row), ...headers },
  };
}

/** Message of a dead execution: its event, with payload and error. */
export function letterMessage(
  row: EventRow,
  event: LifecycleEvent,
  { payload, error }: DeadDetails,
  to: Target,
  encoding: Encoding,
): KafkaMessage {
  const kept = payload !== null && payload.length <= LETTER_PAYLOAD_MAX ? payload : null;
  return eventMessage(row, event, to, encoding, { payload: kept, payloadBytes: payload?.length ?? 0, error });
}

/** Message that tells of rows which the store has removed before they were sent. */
export function gapMessage(row: EventRow, to: Target, encoding: Encoding): KafkaMessage {
  const { shard, epoch, seq, droppedAfter: after = BEFORE_ALL } = row;
  const id = `shard-${shard}/${epoch}-${seq}/${GAP_KIND}`;
  const { value, headers } = encoding.gap({ id, shard, after, last: { epoch, seq } });
  return { ...to.place(shard), value, headers: { id, kind: GAP_KIND, tenant: "", ...headersOf(row), ...headers } };
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
    const own = sizeOf(message);
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

/** Largest number of bytes of a message, with a generous allowance for lengths. */
function sizeOf({ value, headers }: KafkaMessage): number {
  let size = value.length + 100;
  for (const name in headers) size += name.length + UTF8_MAX * (headers[name] as string).length + 4;
  return size;
}
