/** The store did not answer in time. A requested write may have happened. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
  /** Whether the store was known to be down and therefore not asked: nothing has happened. */
  readonly isUnasked: boolean;
  /** Whether a list query took or waited too long. The store answers other requests. */
  readonly isListTimeout: boolean;

  constructor(message: string, options: ErrorOptions & { isUnasked?: boolean; isListTimeout?: boolean } = {}) {
    super(message, options);
    this.isUnasked = options.isUnasked ?? false;
    this.isListTimeout = options.isListTimeout ?? false;
  }
}

/** The store cannot serve this program: it is corrupt, in use, or of a newer version. The message says what to do. */
export class StoreUnusable extends Error {
  override readonly name = "StoreUnusable";
}

/** Queries that a store may leave unserved, in a closed list. */
export type UnservedQuery = "requests in SQL";

/** The store never serves the query, whoever asks. The message names the query and says what to ask instead. */
export class QueryUnserved extends Error {
  override readonly name = "QueryUnserved";
  readonly query: UnservedQuery;

  constructor(query: UnservedQuery, advice: string) {
    super(`the store does not serve ${query}: ${advice}`);
    this.query = query;
  }
}
