import { monotonicMs, sleep } from "../clock.ts";
import type { ProcessFault } from "../history/events.ts";
import { busyWorker } from "./in-flight.ts";
import type { World } from "./world.ts";

/** Deaths of the server and of its store. Each resolves when requests are answered again. */

/**
 * Time until a restart, in milliseconds. Most restarts are quick; some take longer than a broken connection is
 * tolerated.
 */
const DOWN_MS = { least: 0, most: 1_500, long: 7_000 };
const LONG_DOWNS = 0.15;
const DEATHS_AT_START = 0.3;
const START_MS = { least: 50, most: 2_000 };
/** Duration of a pause, in milliseconds: longer than a server may stall without noticing. */
const PAUSE_MS = { least: 2_000, most: 6_000 };

export async function killServer(world: World): Promise<void> {
  const { server, random } = world;
  await busyWorker(world, 1);
  await fellServer(world);
  await sleep(random.chance(LONG_DOWNS) ? DOWN_MS.long : random.between(DOWN_MS.least, DOWN_MS.most));
  server.start();
  if (random.chance(DEATHS_AT_START)) {
    await sleep(random.between(START_MS.least, START_MS.most));
    await fellServer(world);
    server.start();
  }
  await isReady(world, "SERVER_READY");
}

export async function pauseServer(world: World): Promise<void> {
  const { server, random } = world;
  await busyWorker(world, 1);
  tell(world, "SERVER_PAUSED", server.pid);
  server.signal("SIGSTOP");
  await sleep(random.between(PAUSE_MS.least, PAUSE_MS.most));
  server.signal("SIGCONT");
  await isReady(world, "SERVER_CONTINUED");
}

/** Restarts the server as an upgrade does. */
export async function restartServer(world: World): Promise<void> {
  const { server } = world;
  await busyWorker(world, 1);
  tell(world, "SERVER_RESTARTED", server.pid);
  await server.stop();
  server.start();
  await isReady(world, "SERVER_READY");
}

export async function killStore(world: World): Promise<void> {
  await busyWorker(world, 1);
  await fellStore(world);
  await isReady(world, "STORE_READY");
}

export async function killServerAndStore(world: World): Promise<void> {
  const { server, random } = world;
  await busyWorker(world, 1);
  await fellStore(world);
  await sleep(random.between(0, 300));
  await fellServer(world);
  server.start();
  await isReady(world, "SERVER_READY");
}

async function fellServer(world: World): Promise<void> {
  tell(world, "SERVER_KILLED", world.server.pid);
  await world.server.kill();
}

function fellStore(world: World): Promise<void> {
  return world.store.kill((pid) => tell(world, "STORE_KILLED", pid));
}

async function isReady(world: World, event: "SERVER_READY" | "SERVER_CONTINUED" | "STORE_READY"): Promise<void> {
  await world.server.ready();
  world.history.write({ event, at: monotonicMs(), pid: world.server.pid });
}

function tell({ history, say }: World, event: ProcessFault, pid: number): void {
  history.write({ event, at: monotonicMs(), pid });
  say(`${event} (process ${pid})`);
}
