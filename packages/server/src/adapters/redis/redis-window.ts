import type { EpochMs, ExecutionId, Incarnation, ShardId } from "../../domain/ids.ts";
import {
  type DueEntry,
  type DueLook,
  type DueWindow,
  WINDOW_KEPT_MS,
  WINDOW_SHARD_MAX,
} from "../../ports/due-window.ts";
import type { RedisCommand, RedisLink } from "./redis-link.ts";

/** Members in one command. */
const PER_COMMAND = 1_000;

/** The window in Redis: a sorted set of ids by due time for each shard, and the mark of each node. */
export class RedisWindow implements DueWindow {
  readonly #link: RedisLink;

  constructor(link: RedisLink) {
    this.#link = link;
  }

  async add(entries: readonly DueEntry[]): Promise<void> {
    const commands: RedisCommand[] = [];
    for (const [shard, members] of byShard(entries)) {
      const key = this.#key(shard);
      for (let from = 0; from < members.length; from += PER_COMMAND) {
        const part = members.slice(from, from + PER_COMMAND);
        commands.push(["ZADD", key, ...part.flatMap(({ dueAt, executionId }) => [dueAt, executionId])]);
      }
      commands.push(["ZREMRANGEBYRANK", key, WINDOW_SHARD_MAX, -1], ["PEXPIRE", key, WINDOW_KEPT_MS]);
    }
    if (commands.length > 0) await this.#link.call(...commands);
  }

  async mark(node: Incarnation, mark: string): Promise<void> {
    await this.#link.call(["SET", this.#markOf(node), mark, "PX", WINDOW_KEPT_MS]);
  }

  async due(node: Incarnation, shards: readonly ShardId[], dueUntil: EpochMs, limit: number): Promise<DueLook> {
    const [mark, ...found] = await this.#link.call(
      ["GET", this.#markOf(node)],
      ...shards.map(
        (shard): RedisCommand => ["ZRANGEBYSCORE", this.#key(shard), "-inf", dueUntil, "WITHSCORES", "LIMIT", 0, limit],
      ),
    );
    const entries = shards.flatMap((shard, n) => entriesOf(shard, found[n]));
    return { entries, mark: typeof mark === "string" ? mark : null };
  }

  async remove(entries: readonly { shard: ShardId; executionId: ExecutionId }[]): Promise<void> {
    const commands = [...byShard(entries)].map(
      ([shard, members]): RedisCommand => ["ZREM", this.#key(shard), ...members.map(({ executionId }) => executionId)],
    );
    if (commands.length > 0) await this.#link.call(...commands);
  }

  #key(shard: ShardId): string {
    return this.#link.key("window", String(shard));
  }

  #markOf(node: Incarnation): string {
    return this.#link.key("window", "mark", node);
  }
}

function byShard<Entry extends { shard: ShardId }>(entries: readonly Entry[]): Map<ShardId, Entry[]> {
  const shards = new Map<ShardId, Entry[]>();
  for (const entry of entries) {
    const members = shards.get(entry.shard);
    if (members === undefined) shards.set(entry.shard, [entry]);
    else members.push(entry);
  }
  return shards;
}

function entriesOf(shard: ShardId, answer: unknown): DueEntry[] {
  const texts = Array.isArray(answer) ? answer.map(String) : [];
  return Array.from({ length: texts.length >> 1 }, (_, n) => ({
    shard,
    executionId: texts[2 * n] as string,
    dueAt: Number(texts[2 * n + 1]),
  }));
}
