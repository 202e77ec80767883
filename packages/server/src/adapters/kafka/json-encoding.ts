import { EVENT_SOURCE, type LifecycleEvent } from "../../domain/lifecycle-event.ts";
import { type Encoding, GAP_KIND, type Letter } from "./kafka-messages.ts";

/** An event in the JSON format of CloudEvents, of which `data` is the last member. */
export type Encode = (event: LifecycleEvent) => object;

/** Header by the Kafka binding of CloudEvents: the value is a whole CloudEvent. */
const HEADERS = { "content-type": "application/cloudevents+json" };

/** Values are CloudEvents in JSON. `data` of a dead letter also has `payload`, `payloadBytes` and `error`. */
export function jsonEncoding(encode: Encode): Encoding {
  return {
    event(event, letter) {
      const text = JSON.stringify(encode(event));
      return { value: Buffer.from(letter === null ? text : withLetter(text, letter)), headers: HEADERS };
    },
    gap({ id, shard, after, last }) {
      const head = { specversion: "1.0", id, source: EVENT_SOURCE, type: GAP_KIND, subject: `shard-${shard}` };
      const text = JSON.stringify({ ...head, datacontenttype: "application/json", data: { shard, after, last } });
      return { value: Buffer.from(text), headers: HEADERS };
    },
  };
}

function withLetter(text: string, { payload, payloadBytes, error }: Letter): string {
  // The payload goes in as the text that was submitted, because JSON.parse would change large numbers.
  const submitted = payload === null ? "null" : Buffer.from(payload).toString();
  const more = `"payload":${submitted},"payloadBytes":${payloadBytes},"error":${JSON.stringify(error)}`;
  return `${text.slice(0, -2)},${more}}}`;
}
