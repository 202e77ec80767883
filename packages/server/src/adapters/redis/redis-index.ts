import type { EpochMs, ExecutionId, Incarnation } from "../../domain/ids.ts";
import type { WorkerStatus } from "../../ports/messages.ts";
import type { Runtime } from "../../ports/runtime.ts";
import {
  type AskedCancels,
  CANCELS_KEPT_MS,
  CANCELS_MAX,
  type CancelSet,
  REGISTRY_GATEWAYS_MAX,
  REGISTRY_KEPT_MS,
  type RegistryEntry,
  type SideIndex,
  type WorkerRegistry,
} from "../../ports/side-index.ts";
import type { RedisCommand, RedisLink } from "./redis-link.ts";
import { RedisWindow } from "./redis-window.ts";

/** Workers in one command. */
const WORKERS_PER_COMMAND = 500;
/** Characters of all statuses of a gateway. The registry leaves out further workers. */
const ENTRY_MAX_CHARS = 16 * 1024 * 1024;

type IndexRuntime = Pick<Runtime, "now" | "uuid">;

/** The index in Redis. */
export function redisIndex(link: RedisLink, runtime: IndexRuntime): SideIndex {
  return {
    workers: new RedisWorkers(link, runtime),
    cancels: new RedisCancels(link, runtime),
    window: new RedisWindow(link),
  };
}

/**
 * Statuses of workers in a hash for each gateway, whose expiry says how old it is by the clock of Redis. A sorted set has the names of the
 * gateways, so that nothing searches through the keys of others.
 */
class RedisWorkers implements WorkerRegistry {
  readonly #link: RedisLink;
  readonly #runtime: IndexRuntime;
  readonly #gateways: string;

  constructor(link: RedisLink, runtime: IndexRuntime) {
    this.#link = link;
    this.#runtime = runtime;
    this.#gateways = link.key("gateways");
  }

  async write(gateway: Incarnation, workers: readonly WorkerStatus[]): Promise<void> {
    const key = this.#key(gateway);
    // A reader finds the former entry or the new one, never a part.
    const fresh = `${key}:new`;
    const fields = fieldsOf(workers);
    // The empty field keeps the entry of a gateway without workers.
    const commands: RedisCommand[] = [
      ["DEL", fresh],
      ["HSET", fresh, "", ""],
    ];
    for (let from = 0; from < fields.length; from += 2 * WORKERS_PER_COMMAND)
      commands.push(["HSET", fresh, ...fields.slice(from, from + 2 * WORKERS_PER_COMMAND)]);
    await this.#link.call(
      ...commands,
      ["PEXPIRE", fresh, REGISTRY_KEPT_MS],
      ["RENAME", fresh, key],
      ["ZADD", this.#gateways, this.#runtime.now(), gateway],
      ["ZREMRANGEBYRANK", this.#gateways, 0, -REGISTRY_GATEWAYS_MAX - 1],
      ["PEXPIRE", this.#gateways, 2 * REGISTRY_KEPT_MS],
    );
  }

  async forget(gateway: Incarnation): Promise<void> {
    await this.#link.call(["DEL", this.#key(gateway)], ["ZREM", this.#gateways, gateway]);
  }

  async read(except: ReadonlySet<Incarnation>): Promise<RegistryEntry[]> {
    const [names] = await this.#link.call(["ZRANGE", this.#gateways, 0, -1]);
    const gateways = textsOf(names).filter((name) => !except.has(name));
    if (gateways.length === 0) return [];
    const commands = gateways.flatMap((name): RedisCommand[] => [
      ["PTTL", this.#key(name)],
      ["HVALS", this.#key(name)],
    ]);
    const answers = await this.#link.call(...commands);
    const isThere = (n: number) => Number(answers[2 * n]) > 0;
    const gone = gateways.filter((_, n) => !isThere(n));
    if (gone.length > 0) await this.#link.call(["ZREM", this.#gateways, ...gone]);
    return gateways.flatMap((gateway, n) => {
      if (!isThere(n)) return [];
      const ageMs = Math.max(0, REGISTRY_KEPT_MS - Number(answers[2 * n]));
      return { gateway, ageMs, workers: textsOf(answers[2 * n + 1]).flatMap(statusOf) };
    });
  }

  #key(gateway: Incarnation): string {
    return this.#link.key("workers", gateway);
  }
}

/** Cancellations in a sorted set by the time of the request, beside a version that each change replaces. */
class RedisCancels implements CancelSet {
  readonly #link: RedisLink;
  readonly #set: string;
  readonly #version: string;
  readonly #runtime: IndexRuntime;

  constructor(link: RedisLink, runtime: IndexRuntime) {
    this.#link = link;
    this.#runtime = runtime;
    this.#set = link.key("cancels");
    this.#version = link.key("cancels", "version");
  }

  async add(executionId: ExecutionId, askedAt: EpochMs): Promise<boolean> {
    const [, count, known] = await this.#link.call(
      ["ZREMRANGEBYSCORE", this.#set, "-inf", askedAt - CANCELS_KEPT_MS],
      ["ZCARD", this.#set],
      ["ZSCORE", this.#set, executionId],
    );
    if (Number(count) >= CANCELS_MAX && known === null) return false;
    await this.#link.call(
      ["ZADD", this.#set, askedAt, executionId],
      ["PEXPIRE", this.#set, CANCELS_KEPT_MS],
      this.#changed(),
    );
    return true;
  }

  async read(known: string | null): Promise<AskedCancels | null> {
    const [found] = await this.#link.call(["GET", this.#version]);
    const version = typeof found === "string" ? found : "";
    if (version === known) return null;
    const [members] = await this.#link.call(["ZRANGE", this.#set, 0, CANCELS_MAX - 1, "WITHSCORES"]);
    const texts = textsOf(members);
    const cancels = Array.from({ length: texts.length / 2 }, (_, n) => ({
      executionId: texts[2 * n] as string,
      askedAt: Number(texts[2 * n + 1]),
    }));
    return { version, cancels };
  }

  async remove(executionIds: readonly ExecutionId[]): Promise<void> {
    if (executionIds.length === 0) return;
    await this.#link.call(["ZREM", this.#set, ...executionIds], this.#changed());
  }

  #changed(): RedisCommand {
    return ["SET", this.#version, this.#runtime.uuid(), "PX", CANCELS_KEPT_MS];
  }
}

function fieldsOf(workers: readonly WorkerStatus[]): string[] {
  const fields: string[] = [];
  let chars = 0;
  for (const worker of workers) {
    const text = JSON.stringify(worker);
    chars += text.length;
    if (chars > ENTRY_MAX_CHARS) break;
    fields.push(worker.workerId, text);
  }
  return fields;
}

function textsOf(answer: unknown): string[] {
  return Array.isArray(answer) ? answer.filter((one) => typeof one === "string") : [];
}

const STATES: readonly unknown[] = ["ALIVE", "DISCONNECTED", "DRAINING", "DEAD"] satisfies WorkerStatus["state"][];

/** Status of a worker as a gateway has written it. Empty: the text is something else. */
function statusOf(text: string): WorkerStatus[] {
  if (text === "") return [];
  try {
    const value: unknown = JSON.parse(text);
    return isStatus(value) ? [value] : [];
  } catch {
    return [];
  }
}

function isStatus(value: unknown): value is WorkerStatus {
  if (typeof value !== "object" || value === null) return false;
  const status = value as Partial<Record<keyof WorkerStatus, unknown>>;
  const { workerId, name, pool, handlers, capabilities } = status;
  const { slots, prefetch, running, connectedAt, lastHeartbeatAt, loopLagMs } = status;
  const isText = (one: unknown) => typeof one === "string";
  return (
    STATES.includes(status.state) &&
    [workerId, name, pool].every(isText) &&
    [handlers, capabilities].every((list) => Array.isArray(list) && list.every(isText)) &&
    [slots, prefetch, running, connectedAt, lastHeartbeatAt, loopLagMs].every(Number.isFinite)
  );
}
