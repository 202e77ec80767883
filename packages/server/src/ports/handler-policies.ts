import type { DeclaredHandler } from "./store-handlers.ts";

/** Policies as a worker's hello has them, checked. */
export interface ReadPolicies extends Pick<DeclaredHandler, "isHome" | "policies"> {
  /** Names of fields that this server does not know. */
  unknown: string[];
}

/** Sentence that names the task and the option, and says what would be right. */
export interface PolicyFault {
  fault: string;
}

/** Reads and keeps what the tasks of workers declare for jobs of their handlers. */
export interface PolicyKeeper {
  /** @param pool of the worker @param text JSON, as the worker sent it */
  read(pool: string, handler: string, text: Uint8Array): ReadPolicies | PolicyFault;
  /** Keeps them in the store, soon. */
  keep(declared: readonly DeclaredHandler[]): void;
}

/** A handler of a pool that workers of one gateway offer. */
export interface HandlerOffer {
  pool: string;
  handler: string;
  workers: number;
  /** Declarations of its workers; a worker whose SDK declares nothing is left out. */
  declared: readonly {
    isHome: boolean;
    /** JSON text of the policies. */
    policies: string;
    workers: number;
  }[];
}
