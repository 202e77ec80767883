import { monotonicMs, sleep } from "../../clock.ts";
import { killClient, killWorker, retireWorker, stopWorker } from "../users.ts";
import type { ClusterWorld } from "../world.ts";
import { besideFaults, toBeside } from "./beside.ts";
import { ETCD_FAULTS, TO_ETCD } from "./etcd.ts";
import { kafkaFaults, toKafka } from "./kafka.ts";
import { disturb } from "./links.ts";
import { killNode, restartNode, stopNode, stopNodePastAll } from "./nodes.ts";
import { linkSteps, NODE_FAULTS, type NodeFault, PEOPLE_FAULTS, rounds, type UserFault } from "./plan.ts";
import { storeFaults } from "./stores.ts";

/** Least duration of a run in which the stop is as long as every timeout, in milliseconds. */
const LONG_RUN_MS = 600_000;
const LOST_WITHIN_MS = 60_000;
const DOWN_MS = { short: 8_000, long: 60_000 };

const TO_PEOPLE: Record<UserFault, (world: ClusterWorld) => Promise<void>> = {
  // Every new owner waits for a silent worker again, so this may take long among other faults; the judge needs to see
  // it once.
  WORKER_STOPPED: (world) => stopWorker(world, LOST_WITHIN_MS).catch((error: Error) => world.say(error.message)),
  WORKER_KILLED: killWorker,
  WORKER_RETIRED: retireWorker,
  CLIENT_KILLED: killClient,
};

/**
 * Injects all kinds of faults, each at least once, in rows side by side. At the end, all processes run and all
 * links are clear.
 */
export async function injectChaos(world: ClusterWorld, forMs: number): Promise<void> {
  const endMs = monotonicMs() + forMs;
  const { store, etcd, kafka, carriesBus, beside } = world;
  if (store.cannotBeFull !== null)
    world.say(`STORE_FULL is left out, for nothing can be mounted here: ${store.cannotBeFull}`);
  const toSystem = { ...nodeFaults(), ...storeFaults(forMs >= LONG_RUN_MS ? DOWN_MS.long : DOWN_MS.short) };
  await Promise.all([
    row(world, [...NODE_FAULTS, ...store.faults], endMs, (fault) => toSystem[fault](world)),
    row(world, PEOPLE_FAULTS, endMs, (fault) => TO_PEOPLE[fault](world)),
    row(world, linkSteps(kafka !== null), endMs, ({ link, linkFault }) => disturb(world, link, linkFault)),
    ...(etcd === null ? [] : [row(world, ETCD_FAULTS, endMs, (fault) => TO_ETCD[fault](world, etcd))]),
    ...(kafka === null ? [] : [row(world, kafkaFaults(carriesBus), endMs, (fault) => toKafka(world, kafka, fault))]),
    ...beside.map((system) => row(world, besideFaults(system), endMs, (fault) => toBeside(world, system, fault))),
  ]);
}

function nodeFaults(): Record<NodeFault, (world: ClusterWorld) => Promise<void>> {
  let stops = 0;
  return {
    SERVER_KILLED: killNode,
    // The first stop, and every third one after it, outlasts every timeout.
    SERVER_STOPPED: (world) => (stops++ % 3 === 0 ? stopNodePastAll(world) : stopNode(world)),
    SERVER_RESTARTED: restartNode,
  };
}

/** Runs one step after the other, each at least once, until the time is over. */
async function row<Step>(
  world: ClusterWorld,
  steps: readonly Step[],
  endMs: number,
  perform: (step: Step) => Promise<void>,
): Promise<void> {
  let done = 0;
  for (const { gapMs, step } of rounds(world.random, steps)) {
    if (done++ >= steps.length && monotonicMs() > endMs) return;
    await sleep(gapMs);
    await perform(step);
  }
}
