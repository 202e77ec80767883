/** Submits jobs through Kafka: node kafka-submit.ts host:9092 3 */
import { Producer, stringSerializers } from "@platformatic/kafka";

const [broker = "127.0.0.1:9092", count = "1"] = process.argv.slice(2);
const producer = new Producer({
  clientId: "kafka-submit",
  bootstrapBrokers: [broker],
  serializers: stringSerializers,
  idempotent: true,
});
for (let n = 1; n <= Number(count); n++) {
  const value = JSON.stringify({ target: { handler: "send-receipt" }, payload: { order: n } });
  // A repeat of the message, by this program or by Kafka, is the same job.
  const headers = { "content-type": "application/json", "idempotency-key": `receipt-${n}` };
  const { offsets } = await producer.send({
    messages: [{ topic: "ms.job-requests", key: `order-${n}`, value, headers }],
  });
  const [place] = offsets ?? [];
  console.log(`request ${place?.partition}-${place?.offset}`);
}
await producer.close();
