import type { TransferMark } from "./store-transfer.ts";

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

/** A mark on the store says that no server may open it. */
export class StoreMarked extends StoreUnusable {}

/** Error of a server that opens a store in the middle of `mainspring migrate`, or behind it. */
export function markedStore({ state, other }: TransferMark): StoreMarked {
  if (state === "MOVED")
    return new StoreMarked(
      `The store was moved to ${other}: start servers on that one. If nothing has run there, \`mainspring migrate --undo\` opens this one again.`,
    );
  return new StoreMarked(
    `The store is being filled from ${other}, and is not whole: run the same \`mainspring migrate\` again, which begins again, or start ` +
      "servers on the former store.",
  );
}

/** Server, or cluster of servers, that excludes another one from a store. */
interface StoreInUse {
  /** Name of the server, or of one of the cluster. */
  holder: string;
  isCluster: boolean;
  /** Whether the server that is excluded is a node of a cluster. */
  isNode: boolean;
  /** Name of the store for people, as "database". */
  store: string;
  /** Settings that give a server a store of its own. */
  settings: string;
}

/** Error of a server that another one excludes, with what to do. */
export function storeInUse({ holder, isCluster, isNode, store, settings }: StoreInUse): StoreUnusable {
  const advice = `stop it, or give this one a store of its own (${settings}).`;
  if (isNode)
    return new StoreUnusable(
      `A Mainspring server that is alone (${holder}) uses this ${store}: start it with MAINSPRING_BUS=mesh too, ${advice}`,
    );
  if (isCluster)
    return new StoreUnusable(
      `A cluster of Mainspring servers (${holder}) uses this ${store}: set MAINSPRING_BUS=mesh to join it, ${advice}`,
    );
  return new StoreUnusable(`Another Mainspring server (${holder}) uses this ${store}: ${advice}`);
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
