import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, it } from "node:test";
import { kafkaAddress } from "../../ports/kafka-address.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { type KafkaFailed, kafkaClient, loadClient } from "./kafka-client.ts";
import { openKafkaLink } from "./kafka-link.ts";

/** Starts a server that answers every connection with these bytes and ends it. */
async function serverSaying(bytes: Buffer): Promise<{ port: number; close(): void }> {
  const server = createServer((socket) => socket.once("data", () => socket.end(bytes)).on("error", () => undefined));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

it("a broker that hangs up during the login fails the call, and does not end the process", async () => {
  const server = createServer((socket) => socket.once("data", () => socket.destroy()).on("error", () => undefined));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const address = kafkaAddress(`kafka://user:password@127.0.0.1:${port}`);
  assert.ok(address !== null);

  const { Connection } = await loadClient();
  const sasl = { mechanism: "PLAIN", username: "user", password: "password" } as const;
  const connection = new Connection("test", { sasl, connectTimeout: 5_000 });
  await assert.rejects(async () => connection.connect("127.0.0.1", port), /Connection/);

  const { client, options, bounded } = await kafkaClient(address, "test", systemRuntime());
  const admin = new client.Admin(options);
  await assert.rejects(
    bounded(5_000, () => admin.metadata({ topics: [] })),
    { name: "KafkaFailed" },
  );
  await admin.close();
  server.close();
});

it("a response that arrives in chunks is parsed from one piece of memory", async () => {
  const { Reader } = await loadClient();
  const chunked = Reader.from(Buffer.from("ab")).buffer;
  chunked.append(Buffer.from("cd")).append(Buffer.from("ef"));
  const part = chunked.subarray(1, 5);
  assert.deepEqual(part.buffers.map(String), ["bcde"]);
  assert.deepEqual([part.length, chunked.subarray(1, 2).buffers.map(String)], [4, ["b"]]);
});

describe("a server that is no broker for the address", () => {
  const TLS_ALERT = Buffer.from("15030300020246", "hex");
  const HTTP = Buffer.from("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
  const OTHER = Buffer.from("000000080000000100000000", "hex");
  const HINT = /; if this lasts, MAINSPRING_KAFKA names another server than a broker, or /;

  for (const [title, bytes, refusal, hint] of [
    ["wants TLS, which is a refusal", TLS_ALERT, "add tls=on to MAINSPRING_KAFKA", /Broker requires TLS\.$/],
    ["speaks HTTP", HTTP, null, HINT],
    ["answers with other bytes", OTHER, null, HINT],
  ] as const)
    it(`${title}, and the message says what to check`, async () => {
      const server = await serverSaying(bytes);
      const address = kafkaAddress(`kafka://127.0.0.1:${server.port}`);
      assert.ok(address !== null);
      const { client, options, bounded } = await kafkaClient(address, "test", systemRuntime());
      const admin = new client.Admin(options);
      await assert.rejects(
        bounded(5_000, () => admin.listTopics()),
        (error: KafkaFailed) => error.refusal === refusal && hint.test(error.message),
      );
      await admin.close();
      const link = await openKafkaLink(address, "test", systemRuntime());
      const name = refusal === null ? "SinkUnavailable" : "SinkRefused";
      await assert.rejects(link.partitions(["events"]), { name });
      link.close();
      server.close();
    });
});
