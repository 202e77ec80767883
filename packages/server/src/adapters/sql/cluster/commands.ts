import type { ShardId } from "../../../domain/ids.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import type { AddedCommand, Command, JobCommand, PlanCommand, RunCommand } from "../../../ports/store-commands.ts";
import type { AuditTrail } from "../audit/audit-trail.ts";
import { uuids } from "../connection/arrays.ts";
import { COMMAND_CODES, commandKindOf } from "../connection/codes.ts";
import type { Connections, Row, Session } from "../connection/connections.ts";
import { ofShards, shardMask } from "../connection/shard-mask.ts";

/**
 * EXCEPT costs the sum of both sides on every version of PostgreSQL; the planner may turn NOT EXISTS into a loop over
 * their product.
 */
const READ = `
  SELECT id, shard, kind, execution_id, job_id, body FROM commands
  WHERE id IN (
    SELECT id FROM commands c WHERE ${ofShards("c.shard", "$1")} EXCEPT SELECT unnest($2::uuid[]) ORDER BY id LIMIT $3
  ) ORDER BY id`;

const ADD = `
  INSERT INTO commands (id, shard, kind, execution_id, job_id, body) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT DO NOTHING`;

/** @param note fact to be recorded; undefined: none */
export async function addCommand(
  db: Connections,
  trail: AuditTrail,
  command: Command,
  note: AuditNote | undefined,
): Promise<void> {
  const insert = (session: Session) => insertCommand(session, command);
  // A single statement needs no transaction.
  if (note === undefined) return await db.session("submit", insert);
  await trail.transaction("submit", note, insert);
}

export async function insertCommand(session: Session, command: Command): Promise<void> {
  const values = [command.id, command.shard, COMMAND_CODES[command.kind], ...subjectOf(command)];
  await session.run({ name: "add_command", text: ADD, values });
}

/** Execution id, job id and further content of a command; null: the command has none. */
function subjectOf(command: Command): [string | null, string | null, string | null] {
  if ("executionId" in command) return [command.executionId, null, bodyOf(command)];
  const { id: _id, shard: _shard, kind: _kind, jobId, ...body } = command;
  return [null, jobId, JSON.stringify(body)];
}

/** Further content of a command about an execution; null: none. */
export function bodyOf(command: AddedCommand["command"] | RunCommand): string | null {
  const { id: _id, kind: _kind, executionId: _execution, ...rest } = command;
  const { shard: _shard, ...body } = { shard: null, ...rest };
  return Object.values(body).every((value) => value === undefined) ? null : JSON.stringify(body);
}

export async function readCommands(
  db: Connections,
  shards: readonly ShardId[],
  known: ReadonlySet<string>,
  limit: number,
): Promise<Command[]> {
  const values = [shardMask(shards), uuids([...known], (id) => id), limit];
  return (await db.run("read", { name: "read_commands", text: READ, values })).map(commandFrom);
}

type CommandRow = [
  id: string,
  shard: number,
  kind: number,
  executionId: string | null,
  jobId: string,
  body: string | null,
];

export function commandFrom(row: Row): Command {
  const [id, shard, code, executionId, jobId, body] = row as CommandRow;
  const kind = commandKindOf(code);
  const content = body === null ? {} : JSON.parse(body);
  if (executionId !== null) return { id, shard, kind, executionId, ...content } as Command;
  return { id, shard, kind, jobId, ...content } as JobCommand | PlanCommand;
}
