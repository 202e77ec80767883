import type { Incarnation, ShardId } from "../domain/ids.ts";
import type { ToApi, ToGateway, ToScheduler } from "./messages.ts";

/**
 * Asks for the node's own series: the points `from` to `until`, without `until`. Answered by SERIES. Sent only to nodes
 * with the feature SERIES.
 */
export interface ToNode {
  kind: "ASK_SERIES";
  request: string;
  from: number;
  until: number;
}

/** Type of the messages that each role receives. `node`: those for the process itself, whatever its roles. */
export interface Mail {
  api: ToApi;
  scheduler: ToScheduler;
  gateway: ToGateway;
  node: ToNode;
}
/** Receiver of messages on a node. */
export type Receiver = keyof Mail;
/** Part that a node plays. */
export type Role = Exclude<Receiver, "node">;

/**
 * Carries messages between roles. The bus may lose, repeat and reorder messages, so no decision depends on their
 * arrival. It never delivers a message within `send`: the receiver runs later, with all messages that have arrived by
 * then.
 */
export interface Bus {
  readonly node: Incarnation;
  /** Node of the shard's owner, as the owners announced it (`OWNER` to the api); null while no owner is known. */
  ownerOf(shard: ShardId): Incarnation | null;
  /** Nodes with this role that can presumably be reached now, including this node. */
  nodes(role: Role): readonly Incarnation[];
  /**
   * Nodes with an open connection to this node, including this node. `nodes` may also name nodes that are only believed
   * to be reachable.
   */
  connected(): readonly Incarnation[];
  send<R extends Receiver>(to: { node: Incarnation; role: R }, message: Mail[R]): void;
  /** Each receiver has at most one listener. @returns a function that ends the listening */
  listen<R extends Receiver>(role: R, receive: (messages: readonly Envelope<Mail[R]>[]) => void): () => void;
}

export interface Envelope<M> {
  from: Incarnation;
  message: M;
}
