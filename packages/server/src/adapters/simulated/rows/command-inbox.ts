import type { Command, JobId, ShardId } from "@mainspring/server/testing";
import { byText, SortedList } from "./sorted-list.ts";

/** The durable inbox: commands until a commit has obeyed them. */
export class CommandInbox {
  readonly #commands = new SortedList<{ id: string }, Command>((a, b) => byText(a.id, b.id));
  readonly #byId = new Map<string, Command>();

  /** An inbox of its own with the same commands. */
  copy(): CommandInbox {
    const copy = new CommandInbox();
    for (const command of this.#byId.values()) copy.add(command);
    return copy;
  }

  /** @returns false: it is there already */
  add(command: Command): boolean {
    if (this.#byId.has(command.id)) return false;
    this.#byId.set(command.id, command);
    this.#commands.add(command);
    return true;
  }

  /** Only the owner of a command's shard can say that it was obeyed. */
  done(shard: ShardId, id: string): void {
    const command = this.#byId.get(id);
    if (command === undefined || command.shard !== shard) return;
    this.#byId.delete(id);
    this.#commands.delete(command);
  }

  isAbout(jobId: JobId): boolean {
    return [...this.#byId.values()].some((command) => command.kind !== "CANCEL" && command.jobId === jobId);
  }

  /** In order of the ids, without the known ones. */
  read(shards: ReadonlySet<ShardId>, known: ReadonlySet<string>, limit: number): Command[] {
    const found: Command[] = [];
    this.#commands.ascend(null, (command) => {
      if (shards.has(command.shard) && !known.has(command.id)) found.push({ ...command });
      return found.length < limit;
    });
    return found;
  }
}
