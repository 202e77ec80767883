import { type Static, Type } from "typebox";
import { Count, Instant, named, oneOf, orNull, StringOrNull } from "./fields.ts";
import { NodeRole } from "./node.ts";

export const ClusterNodeBody = named("Node", {
  nodeId: Type.String({ description: "one life of the node: another one after its restart" }),
  address: Type.String({ description: "host:port where other nodes reach it" }),
  roles: Type.Array(NodeRole),
  version: Type.String({ description: "of its program" }),
  level: Count("of features that it understands; nodes of one cluster are one level apart at most"),
  state: oneOf(["LIVING", "DRAINING", "GONE"], "GONE: its lease ran out, and it has not said goodbye", "NodeState"),
  startedAt: Instant("when it was started"),
  renewedAgoMs: Count("since it renewed its lease, by the store's clock"),
  isReachable: Type.Boolean({ description: "whether the node that answers has a connection to it" }),
  unreached: orNull(
    Type.Array(Type.String()),
    "addresses of living nodes to which it has no link, by its own word; null: a program of an earlier level, which does not say",
  ),
  isCutOff: Type.Boolean({
    description:
      "whether it takes no part in the work, because it and the nodes that may own shards do not reach each other",
  }),
  shards: Count("that it owns"),
  workers: orNull(Count("workers"), "workers that are connected to it; null: it is no gateway, or did not say"),
});
export type ClusterNodeBody = Static<typeof ClusterNodeBody>;

export const ClusterBody = named("Cluster", {
  node: Type.String({ description: "who answers" }),
  leader: StringOrNull(
    "the node that owns all shards, where all nodes have MAINSPRING_LEADER=one; null: the nodes divide the shards",
  ),
  level: Count("of features that every living node understands: newer ones are not used yet"),
  nodes: Type.Array(ClusterNodeBody, { description: "those that live, and those that went lately; by address" }),
  shards: Type.Array(
    named("ShardOwner", {
      shard: Count("from 0"),
      epoch: Count("grows with each takeover: the time of the last one in microseconds"),
      nodeId: StringOrNull("its owner; null: it waits for one"),
    }),
    { description: "all of them, by number" },
  ),
  lag: named("ClusterLag", {
    ready: Count("executions that wait for a worker, or at one for less than 30 s; 10000 stands for more"),
    oldestReadyMs: orNull(
      Type.Integer({ minimum: 0 }),
      "how long the oldest of those has been due that owners have in memory and no worker has; null: there is none",
    ),
    silentOwners: Count("living owners that did not answer: what waits there is not in the figure above"),
  }),
});
export type ClusterBody = Static<typeof ClusterBody>;
