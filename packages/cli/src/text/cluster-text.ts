import type { ClusterNode, ClusterStatus } from "@mainspring/sdk";
import { counted } from "./counted.ts";
import { facts, table } from "./output.ts";

/** Text of a cluster for people: its nodes, and how far they are behind. */
export function statusText({ nodes, shards, leader, level, lag }: ClusterStatus): string {
  const owned = shards.filter(({ nodeId }) => nodeId !== null).length;
  const silent = lag.silentOwners === 0 ? "" : `; ${counted(lag.silentOwners, "owner")} did not answer`;
  const oldest = lag.oldestReadyMs === null ? "nothing waits" : `the oldest for ${lag.oldestReadyMs} ms`;
  const rest = facts([
    ["shards", `${owned} of ${shards.length} have an owner`],
    ...(typeof leader === "string" ? [leaderFact(nodes, leader)] : []),
    ["ready", `${counted(lag.ready, "execution")}, ${oldest}${silent}`],
    ["feature level", String(level)],
  ]);
  return `${nodesText(nodes)}\n\n${rest}`;
}

function leaderFact(nodes: readonly ClusterNode[], leader: string): [string, string] {
  return ["leader", nodes.find(({ nodeId }) => nodeId === leader)?.address ?? leader];
}

/** Text of nodes for people, one per line. */
export function nodesText(nodes: readonly ClusterNode[]): string {
  const rows = nodes.map((node) => [
    node.address,
    stateText(node),
    node.roles.join(","),
    `${node.version} (${node.level})`,
    String(node.shards),
    node.workers === null ? "-" : String(node.workers),
    node.startedAt,
    `${node.renewedAgoMs} ms ago`,
    node.nodeId,
  ]);
  return table(["NODE", "STATE", "ROLES", "VERSION", "SHARDS", "WORKERS", "SINCE", "RENEWED", "ID"], rows);
}

/** Text of a node's state. A node that is cut off is shown as such, whether or not this node has a connection to it. */
function stateText({ state, isCutOff, isReachable }: ClusterNode): string {
  if (isCutOff) return `${state} (cut off)`;
  return isReachable || state === "GONE" ? state : `${state} (not reachable)`;
}
