import type { Admin, Producer } from "@platformatic/kafka";
import { SinkRefused, SinkUnavailable } from "../../ports/event-sink.ts";
import type { KafkaAddress } from "../../ports/kafka-address.ts";
import { type Runtime, within } from "../../ports/runtime.ts";
import {
  kafkaErrorHint,
  kafkaErrorNames,
  kafkaErrorTexts,
  kafkaTextRefusal,
  loadClient,
  optionsOf,
} from "./kafka-client.ts";

/** A message to a partition. */
export interface KafkaMessage {
  topic: string;
  partition: number;
  key: string;
  value: Buffer;
  headers: Record<string, string>;
}

/**
 * The calls of a Kafka client that the server needs, so that another client fits. All of them end within `CALL_MS`. After an
 * error the link is of no use: a new one has to be opened.
 * @throws {SinkUnavailable | SinkRefused} each call
 */
export interface KafkaLink {
  /** Numbers of partitions of those of the topics that exist. */
  partitions(topics: readonly string[]): Promise<Map<string, number>>;
  /** Creates a topic with the replication of the cluster's defaults, unless it exists. */
  create(topic: string, partitions: number): Promise<void>;
  /** Checks that the user may write, as far as that is possible without a message. */
  prepare(): Promise<void>;
  /** Resolves when all in-sync replicas have the messages. */
  send(messages: readonly KafkaMessage[]): Promise<void>;
  /** Ends the connections at once. */
  close(): void;
}

/** Limits in ms: of a whole call, and of a request in it. */
const CALL_MS = 20_000;
const REQUEST_MS = 10_000;

const AUTHORITY =
  "set NODE_EXTRA_CA_CERTS to a file with the certificate of the authority that the brokers have theirs from";
const SIZE = "let max.message.bytes of the topics be 1 MiB or more";

/** Errors of the protocol, of TLS and of the client that last until a person changes something, and what that is. The first one counts. */
const REFUSALS: Record<string, string> = {
  TOPIC_AUTHORIZATION_FAILED:
    "give the user of MAINSPRING_KAFKA the rights Describe and Write on the topics, and Create for missing ones",
  CLUSTER_AUTHORIZATION_FAILED:
    "give the user of MAINSPRING_KAFKA the right Write on the topics, and IdempotentWrite on brokers below 2.8",
  SASL_AUTHENTICATION_FAILED: "correct the user or the password in MAINSPRING_KAFKA",
  UNSUPPORTED_SASL_MECHANISM: "set another sasl in MAINSPRING_KAFKA",
  MESSAGE_TOO_LARGE: SIZE,
  RECORD_LIST_TOO_LARGE: SIZE,
  POLICY_VIOLATION: "create the topics yourself, as a policy of the brokers wants them",
  INVALID_REPLICATION_FACTOR:
    "create the topics yourself, or set default.replication.factor of the brokers to what they can do",
  SELF_SIGNED_CERT_IN_CHAIN: AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: AUTHORITY,
  CERT_HAS_EXPIRED: "renew the certificate of the brokers",
  ERR_TLS_CERT_ALTNAME_INVALID: "name the brokers in MAINSPRING_KAFKA as their certificate does",
};

/** Opens a link. It connects with the first call. @throws {SinkRefused} the client does not run here */
export async function openKafkaLink(address: KafkaAddress, clientId: string, runtime: Runtime): Promise<KafkaLink> {
  const client = await loadClient();
  const options = { ...optionsOf(address, clientId), requestTimeout: REQUEST_MS, timeout: REQUEST_MS };
  const admin = new client.Admin(options);
  const producer = new client.Producer<string, Buffer, string, string>({
    ...options,
    serializers: { ...client.stringSerializers, value: (value) => value },
    ...{ idempotent: true, acks: client.ProduceAcks.ALL },
  });
  const bounded = <T>(call: () => Promise<T>) =>
    within(CALL_MS, runtime, call()).catch((error: unknown) => {
      throw explain(error, address);
    });
  return new ClientLink({ admin, producer, bounded });
}

function explain(error: unknown, { brokers }: KafkaAddress): SinkRefused | SinkUnavailable {
  const texts = kafkaErrorTexts(error);
  const text = `Kafka at ${brokers.join(", ")}: ${texts.join(": ")}`;
  const names = kafkaErrorNames(error);
  const refusal = Object.keys(REFUSALS).find((name) => names.has(name));
  if (refusal !== undefined) return new SinkRefused(`${text} (${refusal}): ${REFUSALS[refusal]}`, { cause: error });
  const remedy = kafkaTextRefusal(texts);
  if (remedy !== null) return new SinkRefused(`${text} ${remedy}`, { cause: error });
  return new SinkUnavailable(text + kafkaErrorHint(texts), { cause: error });
}

interface ClientParts {
  admin: Admin;
  producer: Producer<string, Buffer, string, string>;
  bounded: <T>(call: () => Promise<T>) => Promise<T>;
}

class ClientLink implements KafkaLink {
  readonly #client: ClientParts;

  constructor(client: ClientParts) {
    this.#client = client;
  }

  partitions(topics: readonly string[]): Promise<Map<string, number>> {
    return this.#client.bounded(async () => {
      const existing = new Set(await this.#client.admin.listTopics());
      const asked = topics.filter((topic) => existing.has(topic));
      const found = new Map<string, number>();
      if (asked.length === 0) return found;
      const metadata = await this.#client.admin.metadata({ topics: asked, forceUpdate: true });
      for (const [topic, { partitionsCount }] of metadata.topics) found.set(topic, partitionsCount);
      return found;
    });
  }

  create(topic: string, partitions: number): Promise<void> {
    return this.#client.bounded(async () => {
      try {
        await this.#client.admin.createTopics({ topics: [topic], partitions, replicas: -1 });
      } catch (error) {
        if (!kafkaErrorNames(error).has("TOPIC_ALREADY_EXISTS")) throw error;
      }
    });
  }

  prepare(): Promise<void> {
    return this.#client.bounded(async () => void (await this.#client.producer.initIdempotentProducer({})));
  }

  send(messages: readonly KafkaMessage[]): Promise<void> {
    return this.#client.bounded(async () => {
      const { unwritableNodes } = await this.#client.producer.send({ messages: [...messages] });
      if (unwritableNodes?.length) throw new Error(`brokers ${unwritableNodes.join(", ")} took no message`);
    });
  }

  close(): void {
    // A close can wait for a broker that does not answer; nothing depends on its end.
    this.#client.producer.close(true).catch(() => undefined);
    this.#client.admin.close().catch(() => undefined);
  }
}
