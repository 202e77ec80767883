import { monotonicMs, sleep, until } from "../../clock.ts";
import type { FaultEvent, ProcessFault } from "../../history/events.ts";
import { busyWorker } from "../in-flight.ts";
import type { ClusterWorld } from "../world.ts";

/** Faults of a cluster's nodes, one at a time. Each resolves when the node serves again. */

const DOWN_MS = { least: 0, most: 4_000, long: 12_000 };
const LONG_DOWNS = 0.2;
/** Duration of a stop, in milliseconds: longer than a lease. */
const STOP_MS = { least: 4_000, most: 9_000 };
/** Duration of a long stop, in milliseconds: longer than every timeout; a silent worker is lost after 30 s. */
const STOP_PAST_ALL_MS = 36_000;
const TAKEN_OVER_WITHIN_MS = 60_000;

/** Kills a node; its shards go to other nodes, and come back. */
export async function killNode(world: ClusterWorld): Promise<void> {
  const { random } = world;
  await busyWorker(world, 1);
  const { server } = random.pick(world.nodes);
  tell(world, "SERVER_KILLED", server.pid);
  await server.kill();
  await sleep(random.chance(LONG_DOWNS) ? DOWN_MS.long : random.between(DOWN_MS.least, DOWN_MS.most));
  server.start();
  await server.ready();
  note(world, "SERVER_READY", server.pid);
}

export function stopNode(world: ClusterWorld): Promise<void> {
  return stop(world, world.random.between(STOP_MS.least, STOP_MS.most));
}

/** Stops a node past every timeout, so that everything that it knows is out of date when it resumes. */
export function stopNodePastAll(world: ClusterWorld): Promise<void> {
  return stop(world, STOP_PAST_ALL_MS);
}

async function stop(world: ClusterWorld, forMs: number): Promise<void> {
  await busyWorker(world, 1);
  const { store } = world;
  const { server, address } = world.random.pick(world.nodes);
  const incarnation = await store.incarnationAt(address);
  tell(world, "SERVER_STOPPED", server.pid);
  server.signal("SIGSTOP");
  try {
    await sleep(forMs);
    await until("the shards of a stopped node are taken over", TAKEN_OVER_WITHIN_MS, async () => {
      return (await store.shardsOf(incarnation)) === 0 ? true : null;
    });
  } finally {
    note(world, "SERVER_CONTINUED", server.pid);
    server.signal("SIGCONT");
  }
  await server.ready();
  world.say(`SERVER_CONTINUED (process ${server.pid})`);
}

/** Restarts a node as an upgrade does. */
export async function restartNode(world: ClusterWorld): Promise<void> {
  await busyWorker(world, 1);
  const { server } = world.random.pick(world.nodes);
  tell(world, "SERVER_RESTARTED", server.pid);
  await server.stop();
  server.start();
  await server.ready();
  note(world, "SERVER_READY", server.pid);
}

export function tell({ history, say }: ClusterWorld, event: ProcessFault, pid: number): void {
  history.write({ event, at: monotonicMs(), pid });
  say(`${event} (process ${pid})`);
}

export function note({ history }: ClusterWorld, event: Noted, pid: number): void {
  history.write({ event, at: monotonicMs(), pid });
}

type Noted = Exclude<Extract<FaultEvent["event"], `${string}_${"READY" | "CONTINUED"}`>, "WORKER_CONTINUED">;
