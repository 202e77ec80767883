import { monotonicMs, sleep, until } from "../../clock.ts";
import type { FaultEvent, ProcessFault } from "../../history/events.ts";
import { busyWorker } from "../in-flight.ts";
import type { ClusterWorld, Node } from "../world.ts";

/** Faults of a cluster's nodes, one at a time. Each resolves when it serves again. */

const DOWN_MS = { least: 0, most: 4_000, long: 12_000 };
const LONG_DOWNS = 0.2;
/** Longer than a lease stands. */
const STOP_MS = { least: 4_000, most: 9_000 };
/** Longer than anybody waits for anybody: a silent worker is lost after 30 s. */
const STOP_PAST_ALL_MS = 36_000;
const TAKEN_OVER_WITHIN_MS = 60_000;

/** Its shards go to others, and come back. */
export async function killNode(world: ClusterWorld): Promise<void> {
  const { dice } = world;
  await busyWorker(world, 1);
  const { server } = dice.pick(world.nodes);
  tell(world, "SERVER_KILLED", server.pid);
  await server.kill();
  await sleep(dice.chance(LONG_DOWNS) ? DOWN_MS.long : dice.between(DOWN_MS.least, DOWN_MS.most));
  server.start();
  await server.ready();
  note(world, "SERVER_READY", server.pid);
}

export function stopNode(world: ClusterWorld): Promise<void> {
  return stop(world, world.dice.between(STOP_MS.least, STOP_MS.most));
}

/** When it wakes everything that it knows has changed. */
export function stopNodePastAll(world: ClusterWorld): Promise<void> {
  return stop(world, STOP_PAST_ALL_MS);
}

async function stop(world: ClusterWorld, forMs: number): Promise<void> {
  await busyWorker(world, 1);
  const node = world.dice.pick(world.nodes);
  const { server } = node;
  const name = await incarnationOf(world, node);
  tell(world, "SERVER_STOPPED", server.pid);
  server.signal("SIGSTOP");
  try {
    await sleep(forMs);
    await until("the shards of a stopped node are taken over", TAKEN_OVER_WITHIN_MS, async () => {
      return (await shardsOf(world, name)) === 0 ? true : null;
    });
  } finally {
    note(world, "SERVER_CONTINUED", server.pid);
    server.signal("SIGCONT");
  }
  await server.ready();
  world.say(`SERVER_CONTINUED (process ${server.pid})`);
}

/** As an upgrade does it. */
export async function restartNode(world: ClusterWorld): Promise<void> {
  await busyWorker(world, 1);
  const { server } = world.dice.pick(world.nodes);
  tell(world, "SERVER_RESTARTED", server.pid);
  await server.stop();
  server.start();
  await server.ready();
  note(world, "SERVER_READY", server.pid);
}

/** Asked of PostgreSQL itself. @returns "" where it does not live */
function incarnationOf({ store }: Pick<ClusterWorld, "store">, { address }: Pick<Node, "address">) {
  return store.sql(`SELECT incarnation FROM nodes WHERE name = '${address}' ORDER BY started_at DESC LIMIT 1`);
}

async function shardsOf({ store }: Pick<ClusterWorld, "store">, incarnation: string): Promise<number> {
  return Number(await store.sql(`SELECT count(*) FROM shards WHERE owner = '${incarnation}'`));
}

export function tell({ history, say }: ClusterWorld, event: ProcessFault, pid: number): void {
  history.write({ event, at: monotonicMs(), pid });
  say(`${event} (process ${pid})`);
}

export function note({ history }: ClusterWorld, event: Noted, pid: number): void {
  history.write({ event, at: monotonicMs(), pid });
}

type Noted = Extract<FaultEvent["event"], "SERVER_READY" | "SERVER_CONTINUED" | "STORE_READY">;
