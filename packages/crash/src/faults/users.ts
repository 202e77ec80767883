import { monotonicMs, until } from "../clock.ts";
import { busyWorker, type InFlight, inFlight } from "./in-flight.ts";
import type { Users } from "./world.ts";

/** Faults of workers and clients. */

const LOST_WITHIN_MS = 180_000;
const LEFT_WITHIN_MS = 90_000;

/** Kills a worker, which another one replaces. */
export async function killWorker(world: Users): Promise<void> {
  const { workers, history, say } = world;
  const member = await busyWorker(world, 1);
  const { pid } = member.child;
  history.write({ event: "WORKER_KILLED", at: monotonicMs(), pid });
  say(`WORKER_KILLED (process ${pid})`);
  await workers.kill(member);
  workers.hire();
}

/** Asks a worker to leave after its present work. Another worker replaces it at once. */
export async function retireWorker(world: Users): Promise<void> {
  const { workers, history, say } = world;
  const member = await busyWorker(world, 1);
  const { pid } = member.child;
  history.write({ event: "WORKER_RETIRED", at: monotonicMs(), pid });
  say(`WORKER_RETIRED (process ${pid})`);
  workers.hire();
  await workers.dismiss([member], LEFT_WITHIN_MS, (child) => child.signal("SIGTERM"));
}

/**
 * Stops a worker until the server has given up everything that it was running, then resumes it.
 * @param lostWithinMs longest wait for that, in milliseconds. @throws {Error} it took longer
 */
export async function stopWorker(world: Users, lostWithinMs = LOST_WITHIN_MS): Promise<void> {
  const { history, stopped, say } = world;
  const member = await busyWorker(world, 3);
  const { pid } = member.child;
  history.write({ event: "WORKER_STOPPED", at: monotonicMs(), pid });
  say(`WORKER_STOPPED (process ${pid})`);
  stopped.add(pid);
  member.child.signal("SIGSTOP");
  try {
    const waiting = new Set(inFlight(member));
    await until(`process ${pid} is declared lost`, lostWithinMs, () => allOver(world, waiting), 500);
  } finally {
    history.write({ event: "WORKER_CONTINUED", at: monotonicMs(), pid });
    say(`WORKER_CONTINUED (process ${pid})`);
    member.child.signal("SIGCONT");
    stopped.delete(pid);
  }
}

export async function killClient({ clients, history, random, say }: Users): Promise<void> {
  const member = random.pick(clients.members);
  const { pid } = member.child;
  history.write({ event: "CLIENT_KILLED", at: monotonicMs(), pid });
  say(`CLIENT_KILLED (process ${pid})`);
  await clients.kill(member);
  clients.hire();
}

/** Removes from `waiting` the executions that have ended according to the server. @returns true: none is left */
async function allOver({ client }: Users, waiting: Set<InFlight>): Promise<true | null> {
  for (const flight of waiting) {
    const execution = await client.getExecution(flight.executionId).catch(() => null);
    // No server answers at the moment, so asking for the others is useless.
    if (execution === null) return null;
    if (execution.attempts.some(({ attempt }) => attempt === flight.attempt)) waiting.delete(flight);
  }
  return waiting.size === 0 ? true : null;
}
