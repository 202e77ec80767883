import type * as kafka from "@platformatic/kafka";
import type { KafkaAddress } from "../../ports/kafka-address.ts";
import { type Runtime, within } from "../../ports/runtime.ts";
import { boundExpansion } from "./expansion.ts";

/** Kafka did not do what was asked. `refusal`: what a person has to change first; null: a later attempt may succeed. */
export class KafkaFailed extends Error {
  override readonly name = "KafkaFailed";
  readonly refusal: string | null;

  constructor(message: string, refusal: string | null, options?: ErrorOptions) {
    super(message, options);
    this.refusal = refusal;
  }
}

/** Change that lets a user read and write topics. */
export const RIGHTS = "give the user of MAINSPRING_KAFKA the rights Describe, Read and Write on the topics";

/** Errors of the protocol and of the client that last until a person changes something, and what that is. The first one counts. */
const REFUSALS: Readonly<Record<string, string>> = {
  TOPIC_AUTHORIZATION_FAILED: RIGHTS,
  CLUSTER_AUTHORIZATION_FAILED: "create the topics, or give the user of MAINSPRING_KAFKA the right Create",
  SASL_AUTHENTICATION_FAILED: "correct the user or the password in MAINSPRING_KAFKA",
  ILLEGAL_SASL_STATE: "leave user and password out of MAINSPRING_KAFKA: this listener wants no login",
  UNSUPPORTED_SASL_MECHANISM: "set another sasl in MAINSPRING_KAFKA",
  POLICY_VIOLATION: "create the topics yourself, as a policy of the brokers wants them",
  INVALID_REPLICATION_FACTOR:
    "create the topics yourself, or set default.replication.factor of the brokers to what they can do",
  PLT_KFK_AUTHENTICATION: "correct the user, the password or sasl in MAINSPRING_KAFKA",
};

const CONNECT_MS = 5_000;

/** Version of reads that name a topic by its id, which brokers have since Kafka 3.1. Older ones answer such a read as if the topic were gone. */
const FETCH_BY_ID = 13;

/** Texts of the client's errors where a server ends a connection, or answers with other bytes than a broker. */
const NO_BROKER = ["Connection closed", "Out of bounds."];
/** Text of the client's error where a server answers in TLS. */
const WANTS_TLS = "Broker requires TLS.";
const ADD_TLS = "add tls=on to MAINSPRING_KAFKA";

type Client = typeof kafka;

/** The client of Kafka with the options of one address, for calls that end. */
export interface KafkaClient {
  readonly client: Client;
  readonly options: ReturnType<typeof optionsOf>;
  /** Runs a call that ends within its time at the latest. @throws {KafkaFailed} */
  bounded<T>(ms: number, call: () => Promise<T>): Promise<T>;
  /** Checks that topics can be read by their ids. @throws {KafkaFailed} the broker is older than Kafka 3.1 */
  refuseOld(client: Pick<kafka.Admin, "listApis">): Promise<void>;
}

/** Loads the client's code; only nodes that use Kafka do so. */
export async function loadClient(): Promise<Client> {
  const client = await import("@platformatic/kafka");
  boundExpansion(client.compressionsAlgorithms);
  hearErrors(client.Connection.prototype);
  joinChunks(client.Reader.from(Buffer.alloc(0)).buffer);
  return client;
}

type Chunks = kafka.Reader["buffer"];

const joined = new WeakSet<Chunks>();

/**
 * Lets the client parse each response from one piece of memory. A response arrives in chunks of up to 64 KiB, among which the client looks
 * for each number from the first chunk on, so that the time of a record would grow with the size of its response.
 */
function joinChunks(some: Chunks): void {
  const chunks = Object.getPrototypeOf(some) as Chunks;
  if (joined.has(chunks)) return;
  joined.add(chunks);
  const { subarray } = chunks;
  chunks.subarray = function (this: Chunks, ...args: Parameters<typeof subarray>) {
    const part = subarray.apply(this, args);
    if (part.buffers.length > 1) part.buffers = [part.slice()];
    return part;
  };
}

const heard = new WeakSet<kafka.Connection>();

/**
 * Gives each connection of the client a listener for its errors. A connection that ends during its login emits several, of which the
 * client hears one; Node ends the process at the next. The calls that wait for the connection fail by themselves.
 */
function hearErrors(connections: kafka.Connection): void {
  if (heard.has(connections)) return;
  heard.add(connections);
  const { connect } = connections;
  connections.connect = function (this: kafka.Connection, ...args: Parameters<typeof connect>) {
    if (!this.listeners("error").includes(ignore)) this.on("error", ignore);
    return connect.apply(this, args);
  } as typeof connect;
}

function ignore(): void {}

export async function kafkaClient(address: KafkaAddress, clientId: string, runtime: Runtime): Promise<KafkaClient> {
  const client = await loadClient();
  return {
    client,
    options: optionsOf(address, clientId),
    async bounded(ms, call) {
      try {
        // The client waits for some answers for ever.
        return await within(ms, runtime, call());
      } catch (error) {
        throw explained(error, address);
      }
    },
    async refuseOld(asking) {
      const fetch = (await asking.listApis()).find(({ name }) => name === "Fetch");
      if (fetch === undefined || fetch.maxVersion >= FETCH_BY_ID) return;
      const text = `Kafka at ${address.brokers.join(", ")} is older than 3.1`;
      throw new KafkaFailed(text, "update the brokers, or leave out MAINSPRING_INGEST and MAINSPRING_BUS=kafka");
    },
  };
}

/** Options that all clients of the address have. */
export function optionsOf({ brokers, tls, sasl }: KafkaAddress, clientId: string) {
  return {
    ...{ clientId, bootstrapBrokers: [...brokers], autocreateTopics: false, retries: 0, connectTimeout: CONNECT_MS },
    ...(tls && { tls: {} }),
    ...(sasl !== null && { sasl: { ...sasl } }),
  };
}

/** Names of an error and of those inside it: of the protocol (`apiId`), of the client or of the system (`code`). */
export function kafkaErrorNames(error: unknown): Set<unknown> {
  return new Set(errorsIn(error).flatMap(({ apiId, code }) => [apiId, code]));
}

/** Messages of an error and of those inside it, each once. */
export function kafkaErrorTexts(error: unknown): string[] {
  return [...new Set(errorsIn(error).map(({ message }) => message))].filter((text) => text !== "");
}

/** Advice for errors that end by themselves if a broker is at fault, and last if the address is; empty: there is none. */
export function kafkaErrorHint(texts: readonly string[]): string {
  if (!NO_BROKER.some((text) => texts.includes(text))) return "";
  return "; if this lasts, MAINSPRING_KAFKA names another server than a broker, or its tls, sasl or user do not fit the listener";
}

/** Change that ends an error which only the client's text tells from others; null: there is none. */
export function kafkaTextRefusal(texts: readonly string[]): string | null {
  return texts.includes(WANTS_TLS) ? ADD_TLS : null;
}

function explained(error: unknown, { brokers }: KafkaAddress): KafkaFailed {
  if (error instanceof KafkaFailed) return error;
  const names = kafkaErrorNames(error);
  const texts = kafkaErrorTexts(error);
  const refusal = Object.keys(REFUSALS).find((name) => names.has(name));
  const text = `Kafka at ${brokers.join(", ")}: ${texts.join(": ")}${kafkaErrorHint(texts)}`;
  const remedy = refusal === undefined ? kafkaTextRefusal(texts) : (REFUSALS[refusal] ?? null);
  return new KafkaFailed(text, remedy, { cause: error });
}

/** An error and those inside it, the outermost first. The client's own search does not look into causes. */
function errorsIn(error: unknown): (Error & { apiId?: unknown; code?: unknown })[] {
  if (!(error instanceof Error)) return [new Error(String(error))];
  const inner = error instanceof AggregateError ? error.errors : error.cause === undefined ? [] : [error.cause];
  return [error, ...inner.flatMap(errorsIn)];
}
