import type { Incarnation, ShardId } from "../domain/ids.ts";
import type { ToApi, ToGateway, ToScheduler } from "./messages.ts";

/** Messages that each role receives. */
export interface Mail {
  api: ToApi;
  scheduler: ToScheduler;
  gateway: ToGateway;
}
export type Role = keyof Mail;

/**
 * Carries messages between roles; never the truth. It may lose, repeat and reorder them, and it never delivers within
 * `send`: the receiver runs later, with all that has come in the meantime.
 */
export interface Bus {
  readonly node: Incarnation;
  /** Where the owner of a shard listens, by what owners say (`OWNER` to the api); null while nobody is known to own it. */
  ownerOf(shard: ShardId): Incarnation | null;
  /** Nodes with that role that can be reached now, this one included. */
  nodes(role: Role): readonly Incarnation[];
  /** Nodes that this one has a connection to now, this one included: those that `nodes` only takes for reachable are not. */
  connected(): readonly Incarnation[];
  send<R extends Role>(to: { node: Incarnation; role: R }, message: Mail[R]): void;
  /** At most one listener a role. @returns ends the listening */
  listen<R extends Role>(role: R, receive: (messages: readonly Envelope<Mail[R]>[]) => void): () => void;
}

export interface Envelope<M> {
  from: Incarnation;
  message: M;
}
