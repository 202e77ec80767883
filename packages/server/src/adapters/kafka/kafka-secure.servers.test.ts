import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { Admin } from "@platformatic/kafka";
import { startKafka, type TestKafka } from "../../../../../tools/services/start-kafka.ts";
import { cloudEvent } from "../../api/events/cloud-event.ts";
import { eventOf } from "../../api/events/events.fixture.ts";
import { SinkRefused, SinkUnavailable } from "../../ports/event-sink.ts";
import { kafkaAddress } from "../../ports/kafka-address.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { jsonEncoding } from "./json-encoding.ts";
import { openKafkaLink } from "./kafka-link.ts";
import { readMessages, whenAvailable } from "./kafka-reader.fixture.ts";
import { allowTopics } from "./kafka-rights.fixture.ts";
import { KafkaSink } from "./kafka-sink.ts";

const PASSWORD = "right:pass@word";
const mailer = { user: "mailer", prefix: "ms." };
const ROW = { shard: 1, epoch: 1, seq: 1, events: [eventOf(1)] };

describe("a Kafka with TLS, logins and rights", () => {
  let kafka: TestKafka;
  let admin: Admin;
  const trusted = getCACertificates();
  before(async () => {
    kafka = await startKafka({ secure: { users: { mailer: PASSWORD } } });
    admin = new Admin({ clientId: "test", bootstrapBrokers: [kafka.broker], retries: 0 });
  });
  after(async () => {
    await admin.close();
    await kafka.stop();
  });

  /** Sink for the address of the secure listener, as MAINSPRING_KAFKA has it. */
  function sinkOf(text: (broker: string) => string, prefix = "ms."): KafkaSink {
    const address = kafkaAddress(text(kafka.secure?.broker ?? ""));
    assert.ok(address !== null);
    return new KafkaSink({
      ...{ link: () => openKafkaLink(address, "test", systemRuntime()), prefix, encoding: jsonEncoding(cloudEvent) },
      details: async () => ({ payload: null, error: null }),
    });
  }

  function login(password: string, query: string): (broker: string) => string {
    return (broker) => `kafka://mailer:${encodeURIComponent(password)}@${broker}?${query}`;
  }

  /** Message of the error with which a sink does not open. */
  async function fault(sink: KafkaSink, kind: typeof SinkRefused | typeof SinkUnavailable): Promise<string> {
    const error: unknown = await sink.open().then(
      () => null,
      (reason: unknown) => reason,
    );
    await sink.close();
    assert.ok(error instanceof kind, String(error));
    assert.ok(!error.message.includes(PASSWORD));
    return error.message;
  }

  it("refuses a sink that does not know its authority, and the message says what to set", async () => {
    const message = await fault(sinkOf(login(PASSWORD, "tls=on")), SinkRefused);
    assert.match(message, /: set NODE_EXTRA_CA_CERTS to a file with the certificate of the authority/);
  });

  describe("whose authority is known", () => {
    before(() => setDefaultCACertificates([...trusted, kafka.secure?.ca ?? ""]));
    after(() => setDefaultCACertificates(trusted));

    it("refuses a wrong password, a sasl that it does not offer, and a name that its certificate does not have", async () => {
      for (const sasl of ["PLAIN", "SCRAM-SHA-256"]) {
        const message = await fault(sinkOf(login("wrong", `tls=on&sasl=${sasl}`)), SinkRefused);
        assert.match(message, /: correct the user or the password in MAINSPRING_KAFKA$/);
      }
      const other = await fault(sinkOf(login(PASSWORD, "tls=on&sasl=SCRAM-SHA-512")), SinkRefused);
      assert.match(other, /: set another sasl in MAINSPRING_KAFKA$/);
      const named = login(PASSWORD, "tls=on");
      const message = await fault(
        sinkOf((broker) => named(broker.replace("127.0.0.1", "localhost"))),
        SinkRefused,
      );
      assert.match(message, /: name the brokers in MAINSPRING_KAFKA as their certificate does$/);
    });

    it("ends connections without TLS or a login, and the message says what to compare", async () => {
      for (const address of [login(PASSWORD, "sasl=PLAIN"), (broker: string) => `kafka://${broker}?tls=on`]) {
        const message = await fault(sinkOf(address), SinkUnavailable);
        assert.match(message, /; if this lasts, .* its tls, sasl or user do not fit the listener$/);
      }
    });

    it("takes events by PLAIN and by SCRAM from a user who has the rights, and refuses each missing one", async () => {
      const topics =
        /: give the user of MAINSPRING_KAFKA the rights Describe and Write on the topics, and Create for missing ones$/;
      const sinkBy = (sasl: string) => sinkOf(login(PASSWORD, `tls=on&sasl=${sasl}`));
      assert.match(await fault(sinkBy("PLAIN"), SinkRefused), topics);
      await allowTopics(admin, mailer, "DESCRIBE", "CREATE");
      const write =
        /: give the user of MAINSPRING_KAFKA the right Write on the topics, and IdempotentWrite on brokers below 2.8$/;
      assert.match(await fault(sinkBy("PLAIN"), SinkRefused), write);
      await allowTopics(admin, mailer, "WRITE");
      for (const sasl of ["PLAIN", "SCRAM-SHA-256"]) {
        const sink = sinkBy(sasl);
        await whenAvailable(() => sink.open());
        await sink.deliver([ROW]);
        await sink.close();
      }
      const messages = await readMessages(kafka.broker, "ms.job-events", 2);
      assert.deepEqual(
        messages.map(({ value }) => JSON.parse(String(value)).id),
        Array(2).fill(`${ROW.events[0]?.executionId}/1/JobCompleted`),
      );
      const strange = sinkOf(login(PASSWORD, "tls=on"), "other.");
      assert.match(await fault(strange, SinkRefused), topics);
    });
  });
});
