import { monotonicMs, sleep } from "../clock.ts";
import { killClient, killWorker, retireWorker, stopWorker } from "./people.ts";
import { type Action, opening, round, type Step } from "./plan.ts";
import { killServer, killServerAndStore, killStore, pauseServer, restartServer } from "./servers.ts";
import type { World } from "./world.ts";

const RUN: Record<Exclude<Action, "STOP_WORKER">, (world: World) => Promise<void>> = {
  KILL_SERVER: killServer,
  PAUSE_SERVER: pauseServer,
  RESTART_SERVER: restartServer,
  KILL_STORE: killStore,
  KILL_SERVER_AND_STORE: killServerAndStore,
  KILL_WORKER: killWorker,
  RETIRE_WORKER: retireWorker,
  KILL_CLIENT: killClient,
};

/** Does one thing after the other to the world, each kind at least once. Ends with everybody up. */
export async function injectFaults(world: World, forMs: number): Promise<void> {
  const endMs = monotonicMs() + forMs;
  const stops = new Stops(world);
  stops.begin();
  while (stops.areBusy) {
    for (const step of opening(world.dice)) if (stops.areBusy) await perform(world, step, stops);
  }
  do {
    for (const step of round(world.dice)) await perform(world, step, stops);
    // A server that dies more often than every half minute gives nobody up who is silent.
    await stops.over();
  } while (monotonicMs() < endMs);
}

async function perform(world: World, { gapMs, action }: Step, stops: Stops): Promise<void> {
  await sleep(gapMs);
  if (action === "STOP_WORKER") stops.begin();
  else await RUN[action](world);
  stops.check();
}

/** Workers are stopped beside everything else; one at a time, so that somebody is left to work. */
class Stops {
  areBusy = false;
  readonly #world: World;
  #last: Promise<void> = Promise.resolve();
  #failure: unknown = null;

  constructor(world: World) {
    this.#world = world;
  }

  begin(): void {
    if (this.areBusy) return;
    this.areBusy = true;
    this.#last = stopWorker(this.#world)
      .catch((error: unknown) => {
        this.#failure = error;
      })
      .finally(() => {
        this.areBusy = false;
      });
  }

  check(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  async over(): Promise<void> {
    await this.#last;
    this.check();
  }
}
