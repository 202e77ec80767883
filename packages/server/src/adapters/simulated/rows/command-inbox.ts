import type { JobId, ShardId } from "../../../domain/ids.ts";
import type { Command } from "../../../ports/store-commands.ts";
import { byText, SortedList } from "../sorted-list.ts";

/** Durable inbox of commands, which keeps each command until a commit has applied it. */
export class CommandInbox {
  readonly #commands = new SortedList<{ id: string }, Command>((a, b) => byText(a.id, b.id));
  readonly #byId = new Map<string, Command>();

  /** A copy of the inbox with the same commands. */
  copy(): CommandInbox {
    const copy = new CommandInbox();
    for (const command of this.#byId.values()) copy.add(command);
    return copy;
  }

  /** @returns false: the inbox has the command already */
  add(command: Command): boolean {
    if (this.#byId.has(command.id)) return false;
    this.#byId.set(command.id, command);
    this.#commands.add(command);
    return true;
  }

  /** Removes a command. Only the owner of the command's shard can report that it was applied. */
  done(shard: ShardId, id: string): void {
    const command = this.#byId.get(id);
    if (command === undefined || command.shard !== shard) return;
    this.#byId.delete(id);
    this.#commands.delete(command);
  }

  isAbout(jobId: JobId): boolean {
    return [...this.#byId.values()].some((command) => "jobId" in command && command.jobId === jobId);
  }

  /** Commands in the order of their ids, without the known ones. */
  read(shards: ReadonlySet<ShardId>, known: ReadonlySet<string>, limit: number): Command[] {
    const found: Command[] = [];
    this.#commands.ascend(null, (command) => {
      if (shards.has(command.shard) && !known.has(command.id)) found.push({ ...command });
      return found.length < limit;
    });
    return found;
  }
}
