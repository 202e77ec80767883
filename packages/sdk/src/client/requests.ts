import type { Http } from "./http.ts";

/** Options of a request. */
export interface ReadOptions {
  signal?: AbortSignal;
}

/** The few ways in which the api is asked. */
export class Requests {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  async get<T>(path: string, options: ReadOptions & { waitMs?: number } = {}): Promise<T> {
    return (await this.#http.send({ method: "GET", path, idempotent: true, ...options })).body as T;
  }

  /** @param idempotent whether sending it twice does no more than sending it once */
  async send<T>(
    method: "POST" | "PUT" | "DELETE",
    path: string,
    body: unknown,
    idempotent: boolean,
    options: ReadOptions = {},
  ): Promise<T> {
    return (await this.#http.send({ method, path, body, idempotent, ...options })).body as T;
  }

  /** The items of a list, page by page as they are asked for. */
  async *pages<T>(path: string, filter: object): AsyncGenerator<T, void, undefined> {
    for (let cursor: string | null = null; ; ) {
      const query = queryOf(cursor === null ? filter : { ...filter, cursor });
      const page: { items: T[]; nextCursor: string | null } = await this.get(path + query);
      yield* page.items;
      cursor = page.nextCursor ?? null;
      if (cursor === null) return;
    }
  }
}

function queryOf(filter: object): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(filter)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined) query.append(key, one instanceof Date ? one.toISOString() : String(one));
    }
  }
  return query.size === 0 ? "" : `?${query}`;
}
