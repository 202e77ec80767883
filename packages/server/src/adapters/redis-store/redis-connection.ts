import { readFileSync } from "node:fs";
import type { RedisAddress } from "../../ports/redis-address.ts";
import { clientOptions, refusalOf } from "../../ports/redis-client.ts";
import { type Runtime, within } from "../../ports/runtime.ts";
import { markedStore, StoreUnavailable, StoreUnusable } from "../../ports/store-errors.ts";
import { markOf } from "../../ports/store-transfer.ts";

/** Longest wait for a connection with its login and its checks, and for the answers to one call, in ms. */
const CONNECT_MS = 5_000;
const CALL_MS = 10_000;
/** Longest wait for the replicas, in ms. */
const REPLICAS_MS = 1_000;
/** Part of the memory for all writes; the rest is for those that end work. */
export const MEMORY_SHARE = 0.9;
/** Time for which an answer about the memory counts, in ms. */
const MEMORY_ASKED_EVERY_MS = 1_000;

/** Rights of the user of the store; continues the name of the setting. */
export const RIGHTS =
  "must have a user with the rights ~PREFIX* +@all -@dangerous +info +config|get, because the store calls functions";

export type RedisArgument = string | Buffer;
/** Answer to a command: texts are bytes. */
export type RedisAnswer = Buffer | number | null | string | readonly RedisAnswer[];
export type RedisCommand = readonly [string, ...RedisArgument[]];

type Client = Awaited<ReturnType<typeof clientOf>>;

export interface ConnectionOptions {
  address: RedisAddress;
  runtime: Runtime;
  /** Number of replicas that must have a durable write before it is answered; default: 0. */
  replicas?: number;
  /** Checks and opens the store over a new connection, before any other call. @returns the generation of the store */
  opened: (send: (command: RedisCommand) => Promise<RedisAnswer>) => Promise<string>;
}

/** One connection to Redis with deadlines, which connects again at the next call after it has ended. */
export class RedisConnection {
  readonly #options: ConnectionOptions;
  #client: Promise<Client> | null = null;
  #isClosed = false;
  #busy = 0;
  #number = 0;
  /** Generation under which the present connection was opened; empty: it is not open yet. */
  #generation = "";
  #tellEnd: (number: number) => void = () => undefined;
  #memoryAskedMs = Number.NEGATIVE_INFINITY;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Number of the present connection, which each new one raises; 0: there is none. */
  get number(): number {
    return this.#client === null ? 0 : this.#number;
  }

  /** Generation of the store that this connection knows; empty: it is not open. */
  get generation(): string {
    return this.#generation;
  }

  /** Ends a connection that was opened under another generation than this one. */
  endUnless(generation: string): void {
    if (this.#client !== null && this.#generation !== "" && this.#generation !== generation) this.#drop(this.#client);
  }

  /** @param tell called with the number of a connection that has ended */
  watchEnd(tell: (number: number) => void): void {
    this.#tellEnd = tell;
  }

  /** Calls in progress: `busy` is 1 if there is one, and `waiting` the number of others. */
  load(): { busy: number; max: number; waiting: number } {
    return { busy: Math.min(this.#busy, 1), max: 1, waiting: Math.max(0, this.#busy - 1) };
  }

  /** First part of the names of all keys of the store. */
  get prefix(): string {
    return `${this.#options.address.prefix}:`;
  }

  key(name: RedisArgument): RedisArgument {
    if (typeof name === "string") return this.prefix + name;
    return Buffer.concat([Buffer.from(this.prefix), name]);
  }

  /** Calls a function that reads, or whose loss after an answer does no harm. @throws {StoreUnavailable} */
  async fcall(name: string, args: readonly RedisArgument[]): Promise<RedisAnswer> {
    const [answer] = await this.#calls(() => [this.#function(name, args)]);
    return answer as RedisAnswer;
  }

  /**
   * Calls a function whose write must be durable: waits for the replicas that the setting names.
   * @throws {StoreUnavailable} also if too few replicas have it in time: the write may survive or not
   */
  async durably(name: string, args: readonly RedisArgument[]): Promise<RedisAnswer> {
    return await this.#confirmed(() => this.#function(name, args));
  }

  /** Reads what tells that an earlier write is durable: waits for the replicas to have all that the primary has. @throws {StoreUnavailable} */
  async readConfirmed(command: RedisCommand): Promise<RedisAnswer> {
    return await this.#confirmed(() => command);
  }

  /** Makes a call and waits for the replicas, which then have the writes of all calls before it, too. */
  async #confirmed(command: () => RedisCommand): Promise<RedisAnswer> {
    const { replicas = 0 } = this.#options;
    const waits: RedisCommand[] = replicas === 0 ? [] : [["WAIT", `${replicas}`, `${REPLICAS_MS}`]];
    const [answer, reached = 0] = await this.#calls(() => [command(), ...waits]);
    if (Number(reached) < replicas)
      throw new StoreUnavailable(`${reached} of ${replicas} replicas of Redis have the write after ${REPLICAS_MS} ms`);
    return answer as RedisAnswer;
  }

  #function(name: string, args: readonly RedisArgument[]): RedisCommand {
    return ["FCALL", name, "2", this.prefix, this.#generation, ...args];
  }

  /**
   * Sends commands together, and waits for all answers.
   * @throws {StoreUnavailable}
   */
  call(commands: readonly RedisCommand[]): Promise<RedisAnswer[]> {
    return this.#calls(() => commands);
  }

  async #calls(commands: () => readonly RedisCommand[]): Promise<RedisAnswer[]> {
    try {
      return await this.#call(commands);
    } catch (error) {
      if (!(error instanceof StoreUnusable)) throw error;
      throw new StoreUnavailable(error.message, { cause: error });
    }
  }

  /**
   * Refuses what adds rows while Redis has less than a tenth of its memory left, or takes no writes. Asks Redis at most once a second.
   * @throws {StoreUnavailable}
   */
  async refuseUnwritable(): Promise<void> {
    const nowMs = this.#options.runtime.monotonicMs();
    if (nowMs - this.#memoryAskedMs < MEMORY_ASKED_EVERY_MS) return;
    const sections = await this.call([
      ["INFO", "memory"],
      ["INFO", "replication"],
      ["INFO", "persistence"],
    ]);
    const fault = writeFault(sections.map(String).join("\n"));
    if (fault !== null) throw new StoreUnavailable(fault, { isUnasked: true });
    this.#memoryAskedMs = nowMs;
  }

  /** Connects, if there is no connection. @throws {StoreUnusable | StoreUnavailable} */
  async check(): Promise<void> {
    await this.#call(() => [["PING"]]);
  }

  close(): void {
    this.#isClosed = true;
    if (this.#client !== null) this.#drop(this.#client);
  }

  /** @param commands made when there is a connection */
  async #call(commands: () => readonly RedisCommand[]): Promise<RedisAnswer[]> {
    if (this.#isClosed) throw new StoreUnavailable("the connection to Redis is closed", { isUnasked: true });
    this.#client ??= this.#connect();
    const connecting = this.#client;
    this.#busy++;
    try {
      const client = await connecting;
      return await this.#within(CALL_MS, Promise.all(commands().map((command) => send(client, command))));
    } catch (error) {
      const failure = failureOf(error);
      if (endsConnection(failure) && this.#client === connecting) this.#drop(connecting);
      throw failure;
    } finally {
      this.#busy--;
    }
  }

  async #connect(): Promise<Client> {
    const client = await clientOf(this.#options.address);
    // The event comes besides the failure of the calls, which say the same.
    client.on("error", () => undefined);
    const number = ++this.#number;
    this.#generation = "";
    client.on("end", () => this.#ended(number));
    try {
      const opening = client.connect().then(() => this.#options.opened((command) => send(client, command)));
      this.#generation = await this.#within(CONNECT_MS, opening);
      return client;
    } catch (error) {
      destroy(client);
      throw error;
    }
  }

  #drop(connecting: Promise<Client>): void {
    connecting.then(destroy, () => undefined);
    this.#ended(this.#number);
  }

  #ended(number: number): void {
    if (this.#number !== number || this.#client === null) return;
    this.#client = null;
    this.#generation = "";
    this.#tellEnd(number);
  }

  #within<T>(patienceMs: number, answer: Promise<T>): Promise<T> {
    const late = () => new StoreUnavailable(`Redis did not answer within ${patienceMs} ms`);
    return within(patienceMs, this.#options.runtime, answer, late);
  }
}

/** Reason why Redis takes no writes that add rows, by its answer to INFO; null: it takes them. */
function writeFault(info: string): string | null {
  const figure = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1]);
  if (figure("used_memory") >= MEMORY_SHARE * figure("maxmemory"))
    return "Redis has less than a tenth of its memory left (maxmemory)";
  if (/^role:slave/m.test(info)) return "Redis is a replica, which takes no writes";
  return /^aof_last_write_status:err/m.test(info) ? "Redis cannot write its file: its disk may be full" : null;
}

async function clientOf(address: RedisAddress) {
  // The client consists of hundreds of modules, which a server without Redis does not load.
  const { createClient, RESP_TYPES } = await import("@redis/client");
  const commandOptions = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };
  return createClient({ ...clientOptions(address, CONNECT_MS, pem), commandOptions });
}

async function send(client: Client, command: RedisCommand): Promise<RedisAnswer> {
  return (await client.sendCommand(command)) as unknown as RedisAnswer;
}

function destroy(client: Client): void {
  if (client.isOpen) client.destroy();
}

/** A refusal of one call leaves the connection, and the takeover with it. */
class CallRefused extends StoreUnavailable {}

function endsConnection(failure: Error): boolean {
  return failure instanceof StoreUnusable || (failure instanceof StoreUnavailable && !(failure instanceof CallRefused));
}

/** Failure in the words of the port. It never repeats the address, which may have a password. */
function failureOf(error: unknown): Error {
  if (error instanceof StoreUnavailable || error instanceof StoreUnusable) return error;
  const { message } = error as Error;
  const cause = { cause: error };
  const refusal = refusalOf(message, RIGHTS);
  if (refusal?.isLasting) return new StoreUnusable(`MAINSPRING_STORE ${refusal.text}: ${message}`, cause);
  if (refusal !== null) return new StoreUnavailable(refusal.text, cause);
  // The next connection loads the library again, also on a server that was rewound to before it.
  if (message.startsWith("ERR Function not found"))
    return new StoreUnavailable("Redis has lost the functions of the store, which are loaded again", cause);
  // Words of the function library.
  if (message.startsWith("MSGEN"))
    return new StoreUnavailable("Redis was restarted, or another server is the primary now", cause);
  if (/^MS(FORMAT|LEVEL) /.test(message))
    return new StoreUnusable(`MAINSPRING_STORE leads to Redis, but ${message.replace(/^MS[A-Z]+ /, "")}`, cause);
  const mark = markOf(message.replace(/^MSMARK /, ""));
  if (message.startsWith("MSMARK ") && mark !== null) return markedStore(mark);
  // A server that has become a replica waits for none.
  if (/^(ERR WAIT|UNBLOCKED)/.test(message)) return new StoreUnavailable("another server is the primary now", cause);
  if (/^MS[A-Z]+ /.test(message)) return new CallRefused(message.replace(/^MS[A-Z]+ /, ""), cause);
  // A function that fails is a bug of this program, and leaves the connection as it is.
  if (/^(ERR|WRONGTYPE)/.test(message)) return error as Error;
  return new StoreUnavailable(`Redis does not answer: ${message}`, cause);
}

function pem(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new StoreUnusable(`MAINSPRING_STORE must name a file that can be read in ca: ${path} (${code})`, { cause });
  }
}
