import type { TestKafka } from "../../../../../tools/services/start-kafka.ts";
import { monotonicMs, sleep } from "../../clock.ts";
import { busyWorker } from "../in-flight.ts";
import type { ClusterWorld, Node } from "../world.ts";
import { note, tell } from "./nodes.ts";

/** Faults of the Kafka that carries the bus of the nodes, or the submitted jobs. Each resolves when the broker answers again. */

const DOWN_MS = { least: 0, most: 5_000 };
/** Duration of a standstill, in milliseconds: around the time after which a node sends over the mesh instead. */
const STOP_MS = { least: 1_000, most: 9_000 };
const ASK_MS = 2_000;
/** Topics of the bus, by their content. A setting of the nodes decides which of those of assignments exists. */
const TOPICS = [["ms.job-assignments", "ms.assignments.default"], ["ms.job-results"]] as const;

type KafkaFault = `KAFKA_${"KILLED" | "STOPPED" | "TOPIC_DELETED"}`;

/** @param carriesBus whether Kafka carries the bus. The topic of requests is never deleted, because it has the only copy of a job. */
export function kafkaFaults(carriesBus: boolean): readonly KafkaFault[] {
  const always = ["KAFKA_KILLED", "KAFKA_STOPPED", "KAFKA_STOPPED"] as const;
  return carriesBus ? [...always, "KAFKA_TOPIC_DELETED"] : always;
}

const FAULTS: Record<KafkaFault, (world: ClusterWorld, kafka: TestKafka) => Promise<void>> = {
  KAFKA_KILLED: async ({ random }, kafka) => {
    await kafka.kill();
    await sleep(random.between(DOWN_MS.least, DOWN_MS.most));
    // A broker that was killed takes half a minute until it answers.
    await kafka.restart();
  },
  KAFKA_STOPPED: async ({ random }, kafka) => {
    kafka.freeze();
    await sleep(random.between(STOP_MS.least, STOP_MS.most));
    kafka.resume();
  },
  KAFKA_TOPIC_DELETED: async ({ random }, kafka) => {
    for (const topic of random.pick(TOPICS)) await kafka.deleteTopic(topic);
  },
};

/** Records how many messages went over Kafka and over the mesh so far, and then injects the fault. */
export async function toKafka(world: ClusterWorld, kafka: TestKafka, fault: KafkaFault): Promise<void> {
  await busyWorker(world, 1);
  await Promise.all(world.nodes.map((node) => countMessages(world, node)));
  tell(world, fault, kafka.pid);
  await FAULTS[fault](world, kafka);
  note(world, "KAFKA_READY", kafka.pid);
  world.say("KAFKA_READY");
}

/** A node that does not answer is counted the next time. */
async function countMessages({ history }: ClusterWorld, { server }: Node): Promise<void> {
  const at = monotonicMs();
  const text = await fetch(`${server.httpUrl}/metrics`, { signal: AbortSignal.timeout(ASK_MS) })
    .then((response) => response.text())
    .catch(() => "");
  const count = (way: string) =>
    Number(new RegExp(`kafka_bus_messages_total\\{[^}]*"${way}"[^}]*\\} (\\S+)`).exec(text)?.[1] ?? 0);
  history.write({ event: "BUS_CARRIED", at, pid: server.pid, kafka: count("KAFKA"), mesh: count("MESH") });
}
