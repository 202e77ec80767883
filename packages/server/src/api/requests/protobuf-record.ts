import { fromBinary } from "@bufbuild/protobuf";
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { type JobRequest, JobRequestSchema } from "@mainspring/proto/requests";

/** JSON text of a job in Protobuf, as POST /v1/jobs takes it. @throws {Error} the bytes are no JobRequest */
export function jobTextOf(value: Uint8Array): Uint8Array {
  const request = fromBinary(JobRequestSchema, value);
  const text = Buffer.from(JSON.stringify(jobOf(request)));
  if (request.payload === undefined) return text;
  // The payload goes in as it is, because JSON.parse would change large numbers.
  return Buffer.concat([text.subarray(0, -1), Buffer.from(',"payload":'), request.payload, Buffer.from("}")]);
}

function jobOf(request: JobRequest): object {
  const { handler, pool, requires, name, priority, labels, retryPolicy } = request;
  const { concurrencyKey, concurrencyLimit, uniqueKey, timeoutSec, maxLifetimeSec, cancelGraceSec } = request;
  const { maxAttempts, initialDelayMs, maxDelayMs } = retryPolicy ?? {};
  return {
    target: { handler, pool, ...(requires.length > 0 && { requires }) },
    ...{ name, priority, concurrencyKey, concurrencyLimit, uniqueKey, timeoutSec, maxLifetimeSec, cancelGraceSec },
    ...(Object.keys(labels).length > 0 && { labels }),
    ...{ runAt: instant(request.runAt), delayMs: whole(request.delayMs), startBefore: instant(request.startBefore) },
    ...(retryPolicy !== undefined && {
      retryPolicy: { maxAttempts, initialDelayMs: whole(initialDelayMs), maxDelayMs: whole(maxDelayMs) },
    }),
  };
}

/** Undefined fields are left out of JSON. An instant that no Date has is left as text that the schema of jobs refuses. */
function instant(at: Timestamp | undefined): string | undefined {
  if (at === undefined) return undefined;
  const ms = timestampMs(at);
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : String(ms);
}

function whole(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}
