import type { RequestState } from "../../../domain/request.ts";
import type { JobRequest, OpenRequest, RequestEnd, RequestSummary } from "../../../ports/store-requests.ts";
import type { Row } from "../connection/connections.ts";

export const REQUEST_STATE_CODES: Readonly<Record<RequestState, number>> = { ACCEPTED: 0, TAKEN_IN: 1, REFUSED: 2 };

export const OPEN_COLUMNS = "id, tenant, created_at, body, idempotency_key, traceparent";

export function openRequestFrom(row: Row): OpenRequest {
  const [id, tenant, createdAt, body, idempotencyKey, traceparent] = row as [
    ...[id: string, tenant: string, createdAt: number, body: string],
    ...[idempotencyKey: string | null, traceparent: string | null],
  ];
  return { id, tenant, createdAt, body, idempotencyKey, traceparent };
}

export const SUMMARY_COLUMNS =
  "id, state, created_at, finished_at, job_id, execution_id, deduplicated, problem, idempotency_key";
export const REQUEST_COLUMNS = `${SUMMARY_COLUMNS}, body`;

type SummaryRow = [
  ...[id: string, state: number, createdAt: number, finishedAt: number | null, jobId: string | null],
  ...[executionId: string | null, deduplicated: boolean | null, problem: string | null, idempotencyKey: string | null],
];

export function summaryFrom(row: Row): RequestSummary {
  const [id, , createdAt, finishedAt, , , , , idempotencyKey] = row as SummaryRow;
  return { id, createdAt, finishedAt, end: endFrom(row as SummaryRow), idempotencyKey };
}

export function requestFrom(row: Row): JobRequest {
  return { ...summaryFrom(row), body: row.at(-1) as string | null };
}

function endFrom([, state, , , jobId, executionId, deduplicated, problem]: SummaryRow): RequestEnd | null {
  if (state === REQUEST_STATE_CODES.ACCEPTED) return null;
  if (state === REQUEST_STATE_CODES.REFUSED) return { state: "REFUSED", problem: problem ?? "{}" };
  return { state: "TAKEN_IN", jobId: jobId ?? "", executionId, deduplicated: deduplicated === true };
}
