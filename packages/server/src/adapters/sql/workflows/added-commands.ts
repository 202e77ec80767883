import type { ShardCommit } from "../../../ports/store.ts";
import type { AddedCommand, Command } from "../../../ports/store-commands.ts";
import { bodyOf } from "../cluster/commands.ts";
import { int2s, texts, uuids } from "../connection/arrays.ts";
import { COMMAND_CODES } from "../connection/codes.ts";

/** Part of the commit statement for commands between the owners of runs and of their nodes with concurrency keys; see running.ts. */

/** Number of parameters of the part. */
export const COMMAND_COLUMNS = 7;

/**
 * Adds commands. The end of a node is told only if this statement writes it, and goes to the shard of the run. A command
 * about a node is left out if the change of its run is missed, because the change is what asks for it.
 * @param first number of the first of the parameters
 * @param holds SQL condition that the fence of the shard in a column holds
 */
export const added = (first: number, holds: (column: string) => string) => `, command AS MATERIALIZED (
  SELECT unnest($${first}::int2[]) AS fence, unnest($${first + 1}::uuid[]) AS id, unnest($${first + 2}::int2[]) AS shard,
    unnest($${first + 3}::int2[]) AS kind, unnest($${first + 4}::uuid[]) AS execution_id,
    unnest($${first + 5}::uuid[]) AS run, unnest($${first + 6}::text[]) AS body
), added AS (
  INSERT INTO commands (id, shard, kind, execution_id, body)
  SELECT c.id, coalesce(c.shard, w.shard), c.kind, c.execution_id, c.body
  FROM command c, LATERAL (SELECT x.shard FROM workflow_runs x WHERE x.run = c.run OFFSET 0) w
  WHERE ${holds("c.fence")} AND CASE WHEN c.kind = ${COMMAND_CODES.NODE_ENDED}
    THEN (c.execution_id IN (SELECT u.id FROM updated u)) IS TRUE
    ELSE (c.run IN (SELECT m.run FROM missed_run m)) IS NOT TRUE END
  ON CONFLICT DO NOTHING RETURNING id, shard
)`;

/** Added commands, each with its shard. */
export const ADDED_ANSWER = ", ARRAY(SELECT a.id || '/' || a.shard FROM added a)";

export function addedValues(batch: readonly ShardCommit[]): unknown[] {
  const all = batch.flatMap(({ shard, commands }) => commands.map((added) => ({ fence: shard, ...added })));
  return [
    int2s(all, ({ fence }) => fence),
    uuids(all, ({ command }) => command.id),
    int2s(all, ({ command }) => ("shard" in command ? command.shard : null)),
    int2s(all, ({ command }) => COMMAND_CODES[command.kind]),
    uuids(all, ({ command }) => command.executionId),
    uuids(all, ({ run }) => run),
    texts(all, ({ command }) => bodyOf(command)),
  ];
}

/** Commands that a shard's commit has added. @param answered elements of ADDED_ANSWER */
export function addedCommands(asked: readonly AddedCommand[], answered: readonly string[]): Command[] {
  const shards = new Map(answered.map((element) => element.split("/") as [id: string, shard: string]));
  return asked.flatMap(({ command }): Command[] => {
    const shard = shards.get(command.id);
    return shard === undefined ? [] : [{ ...command, shard: Number(shard) }];
  });
}
