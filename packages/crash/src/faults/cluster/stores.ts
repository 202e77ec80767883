import { monotonicMs, sleep } from "../../clock.ts";
import type { StoreFault } from "../../environment/chaos-store.ts";
import type { ClusterStore } from "../../environment/postgres/cluster-store.ts";
import { busyWorker } from "../in-flight.ts";
import type { ClusterWorld } from "../world.ts";
import { note, tell } from "./nodes.ts";
import { askWhileDown } from "./outage.ts";

/** Faults of a cluster's store. Each resolves when all nodes serve again. */

const FULL_MS = { least: 1_000, most: 4_000 };
const REPLICATING_MS = { least: 500, most: 3_000 };
/** Duration of a standstill, in milliseconds: around the second for which a write waits for the replica, and longer than a lease. */
const STILL_MS = { least: 500, most: 6_000 };

/** @param downMs duration of an outage, in milliseconds */
export function storeFaults(downMs: number): Record<StoreFault, (world: ClusterWorld) => Promise<void>> {
  let outages = 0;
  return {
    // As when its machine is reset.
    STORE_KILLED: async (world) => void (await fell(world, "STORE_KILLED", "SIGKILL", 0)),
    // As `pg_ctl restart -m immediate` does.
    STORE_ABORTED: async (world) => void (await fell(world, "STORE_ABORTED", "SIGQUIT", 0)),
    STORE_STOPPED: (world) => standStill(world, "STORE_STOPPED", "PRIMARY"),
    STORE_ALONE: (world) => standStill(world, "STORE_ALONE", "REPLICA"),
    STORE_DOWN: async (world) => void (await (outages++ % 2 === 0 ? downStore : hideStore)(world, downMs)),
    STORE_FULL: fillStore,
    STORE_FAILED_OVER: async (world) => void (await failOver(world)),
  };
}

async function standStill(
  world: ClusterWorld,
  event: "STORE_STOPPED" | "STORE_ALONE",
  part: "PRIMARY" | "REPLICA",
): Promise<void> {
  await busyWorker(world, 1);
  tell(world, event, world.store.pid);
  await world.store.standStill?.(part, world.random.between(STILL_MS.least, STILL_MS.most));
  await allReady(world);
}

/**
 * Stops the store for a time, in which nodes must answer with errors. @returns time at which it accepted connections
 * again
 */
export function downStore(world: ClusterWorld, forMs: number): Promise<number> {
  return fell(world, "STORE_DOWN", "SIGQUIT", forMs);
}

async function fell(
  world: ClusterWorld,
  event: "STORE_KILLED" | "STORE_ABORTED" | "STORE_DOWN",
  signal: "SIGKILL" | "SIGQUIT",
  downMs: number,
): Promise<number> {
  const { store } = world;
  await busyWorker(world, 1);
  tell(world, event, store.pid);
  await store.end(signal);
  if (downMs > 0) await Promise.all([sleep(downMs), askWhileDown(world)]);
  await store.start();
  const backAtMs = monotonicMs();
  await allReady(world);
  return backAtMs;
}

/**
 * Hides the store from the nodes: it runs, and no packet passes in either direction. Then everything that was on its
 * way arrives.
 */
export async function hideStore(world: ClusterWorld, forMs: number): Promise<number> {
  const { nodes, store } = world;
  await busyWorker(world, 1);
  tell(world, "STORE_DOWN", store.pid);
  const links = nodes.map((node) => node.links.STORE_LINK);
  for (const link of links) link.linkFault = { kind: "DROPPED", directions: ["TO_SERVER", "TO_CLIENT"] };
  await Promise.all([sleep(forMs), askWhileDown(world)]);
  for (const link of links) link.linkFault = { kind: "CLEAR" };
  const backAtMs = monotonicMs();
  await allReady(world);
  return backAtMs;
}

/** Takes the space of the store away. */
async function fillStore(world: ClusterWorld): Promise<void> {
  const { store, random, history, say } = world;
  await busyWorker(world, 1);
  const [at, pid] = [monotonicMs(), store.pid];
  say(`STORE_FULL (process ${pid})`);
  const complaints = await store.full(random.between(FULL_MS.least, FULL_MS.most));
  history.write({ event: "STORE_FULL", at, pid });
  say(`the store had no space left ${complaints} times`);
  await allReady(world);
}

/** @returns time at which the primary was killed */
export function failOver(world: ClusterWorld): Promise<number> {
  return underLoad(world, (killed) => world.store.failOver(killed));
}

/** The same with a standby that lacks the commits of the last `lagMs` milliseconds. */
export function failOverBehind(world: ClusterWorld<ClusterStore>, lagMs: number): Promise<number> {
  return underLoad(world, (killed) => world.store.failOverBehind(lagMs, killed));
}

async function underLoad(
  world: ClusterWorld,
  failOver: (before: (pid: number) => Promise<void>) => Promise<void>,
): Promise<number> {
  const whileReplicatingMs = world.random.between(REPLICATING_MS.least, REPLICATING_MS.most);
  let killedAtMs = 0;
  await failOver(async (pid) => {
    await sleep(whileReplicatingMs);
    await busyWorker(world, 1);
    killedAtMs = monotonicMs();
    tell(world, "STORE_FAILED_OVER", pid);
  });
  await allReady(world);
  return killedAtMs;
}

async function allReady(world: ClusterWorld): Promise<void> {
  await Promise.all(world.nodes.map(({ server }) => server.ready()));
  note(world, "STORE_READY", world.store.pid);
}
