import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type DeadLetter, DeadLetterSchema, type JobEvent, JobEventSchema } from "@mainspring/proto/events";
import type { EpochMs } from "../../domain/ids.ts";
import { EVENT_SOURCE, eventId, eventSubject, type LifecycleEvent } from "../../domain/lifecycle-event.ts";
import { shownPool } from "../../domain/pool.ts";
import type { EventRef } from "../../ports/store-events.ts";
import { type Encoded, type Encoding, GAP_KIND, type Letter } from "./kafka-messages.ts";

/**
 * Values are `mainspring.events.v1.JobEvent`, and the attributes of CloudEvents are in headers, by the binary mode of the Kafka
 * binding of CloudEvents.
 */
export const protobufEncoding: Encoding = {
  event(event, letter) {
    const { kind, at, traceparent } = event;
    const id = eventId(event);
    const headers = { ce_time: new Date(at).toISOString(), ...given({ ce_traceparent: traceparent }) };
    const message = messageOf(id, event);
    if (letter !== null) message.deadLetter = letterOf(letter);
    return encoded(message, { ...attributes(id, kind, eventSubject(event)), ...headers });
  },
  gap({ id, shard, after, last }) {
    const eventsDropped = { shard, after: positionOf(after), last: positionOf(last) };
    const message = create(JobEventSchema, { id, kind: GAP_KIND, eventsDropped });
    return encoded(message, attributes(id, GAP_KIND, `shard-${shard}`));
  },
};

function encoded(message: JobEvent, headers: Record<string, string>): Encoded {
  const { buffer, byteOffset, byteLength } = toBinary(JobEventSchema, message);
  return { value: Buffer.from(buffer, byteOffset, byteLength), headers };
}

function attributes(id: string, type: string, subject: string): Record<string, string> {
  return {
    "content-type": "application/protobuf",
    ...{ ce_specversion: "1.0", ce_id: id, ce_source: EVENT_SOURCE, ce_type: type, ce_subject: subject },
  };
}

function messageOf(id: string, event: LifecycleEvent): JobEvent {
  const { kind, tenant, pool, handler, attempt, failures, lost, jobVersion } = event;
  const { traceparent, executionId, jobId, workflowId, node, item, trigger, workerId, state, reason } = event;
  const { errorName, step, session } = event;
  return create(JobEventSchema, {
    ...{ id, kind, tenant, pool: shownPool(pool), handler, attempt, failures, lost, jobVersion },
    ...given({ traceparent, executionId, jobId, workflowId, nodeNumber: node, item, trigger, workerId, state, reason }),
    ...given({ time: instant(event.at), scheduledAt: instant(event.scheduledAt), createdAt: instant(event.createdAt) }),
    ...given({ startedAt: instant(event.startedAt), finishedAt: instant(event.finishedAt) }),
    ...given({ errorName, step, session }),
  });
}

function letterOf({ payload, payloadBytes, error }: Letter): DeadLetter {
  return create(DeadLetterSchema, { payloadBytes: BigInt(payloadBytes), ...given({ payload, error }) });
}

function positionOf({ epoch, seq }: EventRef) {
  return { epoch: BigInt(epoch), seq: BigInt(seq) };
}

function instant(at: EpochMs | null) {
  return at === null ? null : timestampFromMs(at);
}

/** The fields that are not null: an absent field of a message has no value. */
function given<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
