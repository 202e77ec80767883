import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { it } from "node:test";
import { kafkaAddress } from "../../ports/kafka-address.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { kafkaClient, loadClient } from "./kafka-client.ts";

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
