import { createHash } from "node:crypto";
import type { EpochMs } from "../../domain/ids.ts";
import { isRequestId, RECORD_AGE_MAX_MS, RECORD_AHEAD_MAX_MS } from "../../domain/ingest.ts";
import { idTimeMs } from "../../domain/occurrence-id.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import { JSON_TYPE, LOG_HEADERS, type LogRecord, PROTOBUF_TYPE } from "../../ports/request-log.ts";
import type { OpenRequest, RequestEnd, RequestId } from "../../ports/store-requests.ts";
import { invalid, type Problem, problem } from "../http/errors.ts";
import { jobTextOf } from "./protobuf-record.ts";

/** Time of the largest id that a job which runs once can have. */
const ID_TIME_MAX = 2 ** 47 - 1;
/** Longest traceparent that is looked at, in characters. */
const TRACEPARENT_CHARS_MAX = 512;

/** A record as a request that the judge can decide, or as one that nobody can. */
export type ReadRecord = { id: RequestId } & ({ request: OpenRequest } | { refused: RequestEnd });

/**
 * Reads a record of the log of requests. The id is the same in each reading.
 * @param tenant tenant of the topic
 */
export function readRecord(
  tenant: Tenant,
  topic: string,
  partition: number,
  record: LogRecord,
  now: EpochMs,
): ReadRecord {
  const { headers, value, timestamp } = record;
  const given = headers.get(LOG_HEADERS.jobId) ?? null;
  const isGiven = given !== null && isRequestId(given);
  const id = isGiven ? given : derivedId(topic, partition, record);
  const at = isGiven ? idTimeMs(id) : timestamp;
  const wrong = faultOf(record, given, at, now);
  if (wrong !== null || value === null) return { id, refused: refusedBy(wrong ?? invalid([])) };
  const body = bodyOf(headers, value);
  if (body === null) return { id, refused: refusedBy(NO_JOB_REQUEST) };
  return {
    id,
    request: {
      ...{ id, tenant, body, keepsId: true },
      createdAt: Math.min(Math.max(0, Math.floor(timestamp)), now),
      idempotencyKey: headers.get(LOG_HEADERS.idempotencyKey) ?? null,
      traceparent: headers.get(LOG_HEADERS.traceparent)?.slice(0, TRACEPARENT_CHARS_MAX) ?? null,
    },
  };
}

const NO_JOB_REQUEST = invalid([{ field: "", message: "is no mainspring.requests.v1.JobRequest" }]);

function typeOf(headers: LogRecord["headers"]): string {
  return (headers.get(LOG_HEADERS.contentType) ?? JSON_TYPE).split(";")[0]?.trim().toLowerCase() ?? "";
}

/** JSON text of the job; null: the value is in Protobuf, and is no job. */
function bodyOf(headers: LogRecord["headers"], value: Uint8Array): Uint8Array | null {
  if (typeOf(headers) === JSON_TYPE) return value;
  try {
    return jobTextOf(value);
  } catch {
    return null;
  }
}

function refusedBy(found: Problem): RequestEnd {
  return { state: "REFUSED", problem: JSON.stringify(found) };
}

function faultOf({ value, headers }: LogRecord, given: string | null, at: number, now: EpochMs): Problem | null {
  if (![JSON_TYPE, PROTOBUF_TYPE].includes(typeOf(headers))) {
    const type = JSON.stringify(headers.get(LOG_HEADERS.contentType)?.slice(0, 100));
    const detail = `the header content-type is ${type}: send jobs as ${JSON_TYPE} or ${PROTOBUF_TYPE}`;
    return problem("unsupported-media-type", detail);
  }
  if (value === null) return invalid([{ field: "", message: "is missing: the record has no value" }]);
  if (given !== null && !isRequestId(given)) {
    const message = "must be a UUIDv7 in small letters, with a time before the year 6429; or leave the header out";
    return invalid([{ field: LOG_HEADERS.jobId, message }]);
  }
  const name = given === null ? "the timestamp of the record" : `the time in the header ${LOG_HEADERS.jobId}`;
  if (at > now + RECORD_AHEAD_MAX_MS) return invalid([{ field: "", message: `${name} is more than a day ahead` }]);
  if (at >= now - RECORD_AGE_MAX_MS) return null;
  const days = RECORD_AGE_MAX_MS / 86_400_000;
  return invalid([{ field: "", message: `${name} is more than ${days} days ago: send the job again` }]);
}

/**
 * Id of the job of a record that names none. It depends on the content too, because a log that lost its end has other records at old
 * offsets.
 */
function derivedId(topic: string, partition: number, { offset, timestamp, value }: LogRecord): RequestId {
  const hash = createHash("sha256").update(`${topic} ${partition} ${offset} ${timestamp}\n`);
  const hex = (value === null ? hash : hash.update(value)).digest("hex");
  const time = Math.min(Math.max(0, Math.floor(timestamp) || 0), ID_TIME_MAX)
    .toString(16)
    .padStart(12, "0");
  const variant = ((Number.parseInt(hex[3] as string, 16) & 3) | 8).toString(16);
  const start = `${time.slice(0, 8)}-${time.slice(8)}-7${hex.slice(0, 3)}`;
  return `${start}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`;
}
