import { readFileSync } from "node:fs";
import type { Logger } from "pino";
import type { RedisAddress } from "../../ports/redis-address.ts";
import { clientOptions, refusalOf } from "../../ports/redis-client.ts";
import { type Runtime, within } from "../../ports/runtime.ts";
import { IndexUnavailable, IndexUnusable } from "../../ports/side-index.ts";

/** Oldest Redis whose commands the index uses. */
const OLDEST = [6, 2] as const;
/** Longest wait for a connection with its login, and for the answers to one call, in ms. */
const CONNECT_MS = 1_000;
const CALL_MS = 500;
/** Time in ms after an outage in which calls fail at once, so that a slow Redis holds up nothing. */
const PAUSE_MS = 1_000;
/** Time for which the key of the check lives, in ms. */
const PROBE_MS = 10_000;

const RIGHTS = "must have a user that may use the keys and commands of the guide";

/** A command with its arguments. */
export type RedisCommand = readonly [string, ...(string | number)[]];

interface RedisLinkOptions {
  address: RedisAddress;
  runtime: Runtime;
  log: Logger;
}

type Client = Awaited<ReturnType<typeof clientOf>>;

/**
 * One connection to Redis with deadlines: a call that is not answered in time ends the connection, and calls fail at once for a
 * second. Nothing waits in a queue for a Redis that is away.
 */
export class RedisLink {
  readonly #options: RedisLinkOptions;
  #client: Promise<Client> | null = null;
  /** Time of the next try to connect, on the monotonic clock. */
  #nextMs = Number.NEGATIVE_INFINITY;
  /** Whether the last call was answered; null: there was none. */
  #isUp: boolean | null = null;
  #failures = 0;
  #isClosed = false;

  constructor(options: RedisLinkOptions) {
    this.#options = options;
  }

  /** Figures: whether the last call was answered, and the number of calls that failed. */
  load(): { isUp: boolean; failures: number } {
    return { isUp: this.#isUp === true, failures: this.#failures };
  }

  /** Name of a key of this cluster. */
  key(...parts: readonly string[]): string {
    return [this.#options.address.prefix, ...parts].join(":");
  }

  /**
   * Checks that the server is a Redis that the index can use.
   * @throws {IndexUnusable} the message says what to do
   * @throws {IndexUnavailable} it does not answer, or takes no writes (yet)
   */
  async check(): Promise<void> {
    await this.#call([["SET", this.key("probe"), "1", "PX", PROBE_MS]]);
  }

  /**
   * Sends commands together, and waits for all answers. One that fails does not take the others back.
   * @throws {IndexUnavailable}
   */
  async call(...commands: readonly RedisCommand[]): Promise<unknown[]> {
    try {
      return await this.#call(commands);
    } catch (error) {
      if (!(error instanceof IndexUnusable)) throw error;
      throw new IndexUnavailable(error.message, { cause: error });
    }
  }

  async #call(commands: readonly RedisCommand[]): Promise<unknown[]> {
    if (this.#isClosed) throw new IndexUnavailable("the connection to Redis is closed");
    if (this.#client === null && this.#options.runtime.monotonicMs() < this.#nextMs) {
      this.#failures++;
      throw new IndexUnavailable("Redis did not answer a moment ago");
    }
    this.#client ??= this.#connect();
    const connecting = this.#client;
    try {
      const client = await connecting;
      const answers = await this.#within(CALL_MS, Promise.all(commands.map((command) => send(client, command))));
      this.#told(null);
      return answers;
    } catch (error) {
      const failure = failureOf(error);
      // A refusal ends the connection, too: the name of a primary may lead to another server after a failover.
      if (this.#client === connecting) this.#drop(connecting);
      this.#failures++;
      this.#told(failure);
      throw failure;
    }
  }

  close(): void {
    this.#isClosed = true;
    if (this.#client !== null) this.#drop(this.#client);
  }

  async #connect(): Promise<Client> {
    const client = await clientOf(this.#options.address);
    // The event comes besides the failure of the calls, which say the same.
    client.on("error", () => undefined);
    try {
      await this.#within(
        CONNECT_MS,
        client.connect().then(() => refuseOthers(client)),
      );
      return client;
    } catch (error) {
      destroy(client);
      throw error;
    }
  }

  #drop(connecting: Promise<Client>): void {
    this.#client = null;
    this.#nextMs = this.#options.runtime.monotonicMs() + PAUSE_MS;
    connecting.then(destroy, () => undefined);
  }

  /** Logs an outage once, and its end. */
  #told(failure: Error | null): void {
    const { log } = this.#options;
    const isUp = failure === null;
    if (isUp === this.#isUp) return;
    this.#isUp = isUp;
    if (isUp) log.info("Redis answers: the registry of workers and the set of cancellations are in use");
    else
      log.warn({ err: failure }, "Redis does not answer: the server goes on without it, and tries again every second");
  }

  #within<T>(patienceMs: number, answer: Promise<T>): Promise<T> {
    const late = () => new IndexUnavailable(`Redis did not answer within ${patienceMs} ms`);
    return within(patienceMs, this.#options.runtime, answer, late);
  }
}

async function clientOf(address: RedisAddress) {
  // The client consists of hundreds of modules, which a server without Redis does not load.
  const { createClient } = await import("@redis/client");
  return createClient(clientOptions(address, CONNECT_MS, pem));
}

function send(client: Client, [name, ...values]: RedisCommand): Promise<unknown> {
  return client.sendCommand([name, ...values.map(String)]);
}

function destroy(client: Client): void {
  if (client.isOpen) client.destroy();
}

/** @throws {IndexUnusable} the server is too old, or part of a Redis Cluster */
async function refuseOthers(client: Client): Promise<void> {
  const [server, cluster] = await Promise.all([send(client, ["INFO", "server"]), send(client, ["INFO", "cluster"])]);
  const version = /^redis_version:(\S+)/m.exec(String(server))?.[1];
  if (version === undefined) throw new IndexUnusable("MAINSPRING_REDIS leads to a server that is no Redis");
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldMajor, oldMinor] = OLDEST;
  if (major < oldMajor || (major === oldMajor && minor < oldMinor))
    throw new IndexUnusable(`MAINSPRING_REDIS leads to a Redis of version ${version}: it must be 6.2 or newer`);
  if (/^cluster_enabled:1/m.test(String(cluster)))
    throw new IndexUnusable(
      "MAINSPRING_REDIS leads to a node of a Redis Cluster: it must be a Redis without cluster mode, which may have replicas",
    );
}

/** Failure in the words of the port. It never repeats the address, which may have a password. */
function failureOf(error: unknown): IndexUnavailable | IndexUnusable {
  if (error instanceof IndexUnavailable || error instanceof IndexUnusable) return error;
  const { message } = error as Error;
  const cause = { cause: error };
  const refusal = refusalOf(message, RIGHTS);
  if (refusal?.isLasting) return new IndexUnusable(`MAINSPRING_REDIS ${refusal.text}: ${message}`, cause);
  return new IndexUnavailable(refusal?.text ?? `Redis does not answer: ${message}`, cause);
}

function pem(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new IndexUnusable(`MAINSPRING_REDIS must name a file that can be read in ca: ${path} (${code})`, { cause });
  }
}
