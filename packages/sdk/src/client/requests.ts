import type { Http } from "./http.ts";

/** Options of a request. */
export interface ReadOptions {
  signal?: AbortSignal;
}

/** Sends requests of the API and reads lists page by page. */
export class Requests {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  async get<T>(path: string, options: ReadOptions & { waitMs?: number } = {}): Promise<T> {
    return (await this.#http.send({ method: "GET", path, idempotent: true, ...options })).body as T;
  }

  /** @param idempotent whether two arrivals of the request have the same effect as one */
  async send<T>(
    method: "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    body: unknown,
    idempotent: boolean,
    options: ReadOptions & { headers?: Readonly<Record<string, string>> } = {},
  ): Promise<T> {
    return (await this.#http.send({ method, path, body, idempotent, ...options })).body as T;
  }

  /** Yields the items of a list. It fetches each page when the caller gets to it. */
  async *pages<T>(path: string, filter: object, options: ReadOptions = {}): AsyncGenerator<T, void, undefined> {
    for (let cursor: string | null = null; ; ) {
      const query = queryOf(cursor === null ? filter : { ...filter, cursor });
      const page: { items: T[]; nextCursor: string | null } = await this.get(path + query, signalOf(options));
      yield* page.items;
      cursor = page.nextCursor ?? null;
      if (cursor === null) return;
    }
  }
}

function signalOf({ signal }: ReadOptions): ReadOptions {
  return signal === undefined ? {} : { signal };
}

/** The query of a filter: a list is one parameter that is repeated. */
export function queryOf(filter: object): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(filter)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined) query.append(key, one instanceof Date ? one.toISOString() : String(one));
    }
  }
  return query.size === 0 ? "" : `?${query}`;
}

export function workerPath(workerId: string): string {
  return `/v1/workers/${encodeURIComponent(workerId)}`;
}

export function executionPath(executionId: string): string {
  return `/v1/executions/${encodeURIComponent(executionId)}`;
}
