import { isKeyedNode } from "../domain/execution.ts";
import type { Incarnation, ShardId } from "../domain/ids.ts";
import type { Bus } from "../ports/bus.ts";
import type { HintedRow } from "../ports/messages.ts";
import type { Applied } from "./shard-commit.ts";

/**
 * Tells owners of other shards what a commit has left for them: commands in their inboxes, and executions of nodes in the
 * shards of their concurrency keys. They find what a lost message would have told them when they look through their shards.
 */
export function hintOwners(
  bus: Bus,
  ownerOf: (shard: ShardId) => Incarnation | null,
  { created, added }: Pick<Applied, "created" | "added">,
): void {
  for (const command of added) {
    const node = ownerOf(command.shard);
    if (node !== null) bus.send({ node, role: "scheduler" }, { kind: "COMMAND", command });
  }
  const hints = new Map<Incarnation, HintedRow[]>();
  for (const row of created.nodes.created) {
    const node = isKeyedNode(row) ? ownerOf(row.shard) : null;
    // The machine brings executions in its own shards into memory itself.
    if (node !== null && node !== bus.node) hints.set(node, [...(hints.get(node) ?? []), { row, payload: null }]);
  }
  for (const [node, rows] of hints) bus.send({ node, role: "scheduler" }, { kind: "HINT", rows });
}
