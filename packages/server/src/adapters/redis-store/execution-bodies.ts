import { payloadName, readBodies, resultName } from "./bodies.ts";
import type { StoredExecution } from "./record.ts";
import type { RedisConnection } from "./redis-connection.ts";

/** Payload and result of an execution. */
export async function bodiesOf(
  db: RedisConnection,
  { id, jobId, jobVersion, payload, result }: StoredExecution,
): Promise<[payload: Buffer | null, result: Buffer | null]> {
  const large = [
    ...(typeof payload === "number" ? [payloadName(jobId, jobVersion)] : []),
    ...(typeof result === "number" ? [resultName(id, result)] : []),
  ];
  const bodies = await readBodies(db, large);
  const next = (own: Buffer | number | null) => (typeof own === "number" ? (bodies.shift() ?? null) : own);
  return [next(payload), next(result)];
}
