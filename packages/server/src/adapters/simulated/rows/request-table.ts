import type { EpochMs, Incarnation } from "../../../domain/ids.ts";
import type { Submission } from "../../../ports/store.ts";
import {
  type JobRequest,
  type OpenRequest,
  REQUESTS_KEPT_DAYS,
  type RequestEnd,
  type RequestId,
  type RequestJudge,
  type RequestQuery,
  type TakeInLimits,
  type TakenRequest,
} from "../../../ports/store-requests.ts";
import type { StoreData } from "../store-data.ts";
import { submit } from "./submit.ts";

/** Time in ms after which the store ends a transaction that does nothing, and frees the requests that it holds. */
const HELD_MS = 10_000;
const DAY_MS = 86_400_000;

interface StoredRequest extends Omit<OpenRequest, "body"> {
  body: string | null;
  end: RequestEnd | null;
  finishedAt: EpochMs | null;
  /** Transaction that takes the request in; null: none. */
  held: { by: symbol; until: EpochMs } | null;
}

/** Requests for jobs; see StoreRequests. */
export class RequestTable {
  readonly #rows = new Map<RequestId, StoredRequest>();

  /** A copy with the same content. The transactions of the original hold nothing of it. */
  copy(): RequestTable {
    const copy = new RequestTable();
    for (const [id, row] of this.#rows) copy.#rows.set(id, { ...row, held: null });
    return copy;
  }

  /** Adds a request, as the commit of an application's transaction does. */
  add(request: Omit<OpenRequest, "body"> & { body: string }): void {
    this.#rows.set(request.id, { ...request, end: null, finishedAt: null, held: null });
  }

  /** Requests that a transaction holds from now on. */
  claim(by: symbol, { count, bytes }: TakeInLimits, now: EpochMs): OpenRequest[] {
    const isFree = ({ end, held }: StoredRequest) => end === null && (held === null || held.until <= now);
    const free = this.#sorted().filter(isFree).slice(0, count);
    let total = 0;
    const claimed = free.filter((row, i) => {
      total += Buffer.byteLength(row.body ?? "");
      return i === 0 || total <= bytes;
    });
    for (const row of claimed) row.held = { by, until: now + HELD_MS };
    return claimed.map(openRequestOf);
  }

  /** Whether the transaction still holds the requests. */
  isHeld(by: symbol, ids: readonly RequestId[], now: EpochMs): boolean {
    return ids.every((id) => {
      const held = this.#rows.get(id)?.held ?? null;
      return held?.by === by && held.until > now;
    });
  }

  end(id: RequestId, end: RequestEnd, now: EpochMs): void {
    const row = this.#rows.get(id);
    if (row === undefined) return;
    Object.assign(row, { end, finishedAt: now, held: null });
    if (end.state === "TAKEN_IN") row.body = null;
  }

  get(tenant: string, id: RequestId): JobRequest | null {
    const row = this.#rows.get(id);
    return row === undefined || row.tenant !== tenant ? null : requestOf(row);
  }

  list(tenant: string, { state, before, limit }: RequestQuery): JobRequest[] {
    const isWanted = (row: StoredRequest) =>
      row.tenant === tenant &&
      (before === null || row.id < before) &&
      (state === null || (row.end?.state ?? "ACCEPTED") === state);
    return this.#sorted().filter(isWanted).reverse().slice(0, limit).map(requestOf);
  }

  /** All requests, in order of their ids. */
  all(): JobRequest[] {
    return this.#sorted().map(requestOf);
  }

  forget(now: EpochMs, days: number): void {
    for (const [id, { end, finishedAt }] of this.#rows) {
      const kept = end?.state === "REFUSED" ? days : REQUESTS_KEPT_DAYS;
      if (finishedAt !== null && finishedAt < now - kept * DAY_MS) this.#rows.delete(id);
    }
  }

  #sorted(): StoredRequest[] {
    return [...this.#rows.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }
}

function requestOf({ id, createdAt, finishedAt, end, body, idempotencyKey }: StoredRequest): JobRequest {
  return { id, createdAt, finishedAt, end, body, idempotencyKey };
}

function openRequestOf({ id, tenant, createdAt, idempotencyKey, traceparent, body }: StoredRequest): OpenRequest {
  return { id, tenant, createdAt, idempotencyKey, traceparent, body: body ?? "" };
}

/** A transaction that takes requests in; null: it has ended without a commit. */
export function takeIn(
  data: StoreData,
  by: Incarnation,
  held: symbol,
  requests: readonly OpenRequest[],
  decisions: readonly (Submission | RequestEnd)[],
  judge: Pick<RequestJudge, "conclude">,
): TakenRequest[] | null {
  const ids = requests.map(({ id }) => id);
  if (!data.requests.isHeld(held, ids, data.now())) return null;
  const taken = decisions.map((decision, i): TakenRequest => {
    const id = ids[i] as RequestId;
    if ("state" in decision) return { id, end: decision, submitted: null };
    const [outcome] = submit(data, by, [decision]);
    if (outcome === undefined) throw new Error("a submission has an outcome");
    return { id, end: judge.conclude(outcome), submitted: { submission: decision, outcome } };
  });
  for (const { id, end } of taken) data.requests.end(id, end, data.now());
  data.tell({ kind: "REQUESTS_ENDED", at: data.now(), by, taken });
  return taken;
}
