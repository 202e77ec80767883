import type { Client, ClusterNode } from "@mainspring/sdk";
import { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { durationMs } from "../arguments/option-values.ts";
import { Failure } from "../failure.ts";
import { nodesText, statusText } from "../text/cluster-text.ts";
import { counted } from "../text/counted.ts";

interface DrainOptions extends ConnectionOptions {
  /** Longest wait, in milliseconds. */
  wait?: number;
}

export function clusterCommand(): Command {
  return new Command("cluster")
    .description("look at the servers, and empty one before it is stopped")
    .addCommand(statusCommand())
    .addCommand(drainCommand())
    .addCommand(undrainCommand());
}

function statusCommand(): Command {
  return clientCommand("status")
    .description("show the nodes, which shards they own, and how far they are behind")
    .action(async (options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const status = await client.cluster.status();
      output.print(status, () => statusText(status));
    });
}

function drainCommand(): Command {
  return clientCommand("drain")
    .description("have a node give its shards and workers to the others; its api goes on")
    .argument("<node>", "its address, its id, or how that begins")
    .option("--wait <duration>", "wait so long at most until it has none left, as 1m; else it fails", durationMs)
    .action(async (node: string, options: DrainOptions) => {
      const { client, output } = connect(options);
      const { nodeId } = await found(client, node);
      let drained = await client.cluster.drain(nodeId);
      if (options.wait !== undefined) drained = await emptied(client, nodeId, options.wait);
      output.print(drained, () => nodesText([drained]));
    });
}

function undrainCommand(): Command {
  return clientCommand("undrain")
    .description("have a node that was drained take shards and workers again")
    .argument("<node>", "its address, its id, or how that begins")
    .action(async (node: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const { nodeId } = await found(client, node);
      const back = await client.cluster.undrain(nodeId);
      output.print(back, () => nodesText([back]));
    });
}

/** @throws {Failure} no node has the name, or several have it */
async function found(client: Client, name: string): Promise<ClusterNode> {
  const living = (await client.cluster.status()).nodes.filter(({ state }) => state !== "GONE");
  const exact = living.filter(({ nodeId, address }) => nodeId === name || address === name);
  const fitting = exact.length > 0 ? exact : living.filter(({ nodeId }) => nodeId.startsWith(name));
  const [one, other] = fitting;
  if (one !== undefined && other === undefined) return one;
  const names = (other === undefined ? living : fitting).map(({ address }) => address).join(", ");
  const what = other === undefined ? `no living node is called ${name}` : `several nodes are called ${name}`;
  throw new Failure(`${what}: give one of ${names}`);
}

async function emptied(client: Client, nodeId: string, timeoutMs: number): Promise<ClusterNode> {
  const node = await client.cluster.emptied(nodeId, { timeoutMs });
  if (node === null) throw new Failure("the node is not there any more");
  const { shards, workers } = node;
  if (shards + (workers ?? 0) === 0) return node;
  const left = `${counted(shards, "shard")} and ${counted(workers ?? 0, "worker")}`;
  throw new Failure(`it still has ${left}, and goes on giving them away`);
}
